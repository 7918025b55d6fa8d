"""Shelf: where the bytes of large results are kept."""
