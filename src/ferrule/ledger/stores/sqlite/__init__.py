"""The embedded ledger: one SQLite file with one writer."""
