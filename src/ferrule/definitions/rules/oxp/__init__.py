"""The rules for OXP tool definitions; `fields.py` holds the table of structural rules.

They import `schema`, `contracts` and `model`. They do not know the rules of other standards, and they compute no line
number.
"""
