"""A ledger that lasts as long as its process: for tests and for trying things out."""
