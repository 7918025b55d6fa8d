"""Shelf: the rules of each standard. `fields.py` holds the table of structural rules, one file each holds the others."""
