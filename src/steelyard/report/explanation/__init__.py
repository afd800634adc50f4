"""Why a verdict is what it is, and why a regrade differs."""
