"""Shelf: where secret values come from, one file each. `builtin.py` lists them."""
