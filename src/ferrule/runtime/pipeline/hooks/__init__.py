"""Runs the hooks of a call and applies their answers: to permission, to arguments and to results.

The phases call it. The engines that start a hook's program or function are in `runtime/hooks`; it knows none of them.
"""
