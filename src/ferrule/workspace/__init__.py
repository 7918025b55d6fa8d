"""A folder of definitions as a person works with it: check, build, publish, diff, convert, generate stubs.

It wires the compiler with its dialects and rules. It imports `access`, `settings`, the engines and every layer below
them. It does not know running calls: `app` does.
"""
