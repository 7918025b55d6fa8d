"""Finds the rules that a call may fit: an index by what rules want of its arguments. It leaves rules out and never decides.

Above stand the programs of `runtime/policy`; it does not know rulings.
"""
