"""Task folders with tests of their own, which run on a bench and nowhere else."""

collect_ignore_glob = ["*"]
