"""Ways of running tools, one file each. `builtin.py` lists them."""
