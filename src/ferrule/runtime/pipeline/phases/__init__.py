"""The thirteen phases of a call, one file each; file, function and phase share one name.

They import `runtime/pipeline` and what it imports. A phase does not know the other phases or their order, and calls
none of them.
"""
