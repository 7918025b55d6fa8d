"""Where events go: one file per kind. `ferrule.follow` brings them there, from the ledger."""
