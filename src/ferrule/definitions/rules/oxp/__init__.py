"""Rules of one standard; see `fields.py` for the structural ones."""
