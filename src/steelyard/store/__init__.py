"""The index of run folders. The folders are the truth: the index answers quickly, and is rebuilt from them."""
