"""The lint rules, one folder per standard. A table holds the structural rules; each other rule has a class.

`builtin.py` lists them. They import `schema`, `contracts` and `model`. They name a path and a message, and do not know
line numbers or the compiler.
"""
