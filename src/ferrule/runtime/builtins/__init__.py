"""Shelf: the built-in tools of ADL: read, write, edit, bash, fetch. Off until an agent file enables them, and confined."""
