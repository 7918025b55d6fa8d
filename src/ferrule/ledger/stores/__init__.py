"""Where the ledger is kept: one folder per kind, same file names inside each."""
