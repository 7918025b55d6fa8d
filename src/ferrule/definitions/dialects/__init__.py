"""Shelf: one file per definition dialect. Each recognises its documents, outlines them, compiles tools and emits them."""
