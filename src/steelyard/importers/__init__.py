"""Tasks of other people's formats -> contract folders.

    find.py          SOURCE -> what is there: rows of a file, task folders, a list of scorers
    swebench.py      a row of SWE-bench          -> Task
    touchstone.py    a case.yaml                 -> Task
    harbor.py        a task.toml (aec-bench too) -> Task
    scorers.py       a list of scorers           -> Task
    write.py         Task -> contract.yaml, brief.md and files, whole or not at all

Nothing of a task runs here. What a contract cannot say is refused by file and key, never left out in silence.
"""
