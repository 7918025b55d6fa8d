"""Programs outside this process: starts them without a shell, confines them, reads their output and ends their process
tree.

It imports `contracts` and `model`. It does not know which tool or hook runs a program.
"""
