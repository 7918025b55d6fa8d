"""Languages of stubs, a folder each: `builtin.py` lists them."""
