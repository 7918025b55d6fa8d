"""Holds what a definition says, whatever its dialect or format: sections, linked records, guidance, our own fields, tokens.

It imports `model` alone. Every part of `definitions` may import it, and it knows none of them.
"""
