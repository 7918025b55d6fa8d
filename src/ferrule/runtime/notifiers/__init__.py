"""How people learn that a call waits for them: one file per way of telling."""
