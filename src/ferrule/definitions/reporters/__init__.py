"""How diagnostics are shown: one file per format, listed in `builtin.py`."""
