"""Where events go: one file per kind. `ferrule.app.follower` brings them there, from the ledger."""
