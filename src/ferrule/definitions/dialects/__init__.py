"""One file per definition dialect: each recognises its documents, outlines them, and compiles
their tools. Those that end with `_emit` write them.

`builtin.py` lists them. They implement `contracts/dialect.py` and import `schema`, `contracts` and `model`. They do not
know line numbers, rules or the compiler.
"""
