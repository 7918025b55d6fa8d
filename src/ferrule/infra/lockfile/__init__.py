"""The lock file: pinned descriptions that upstream servers give of their tools, comparison with the current ones, and
tools made from it.

It imports `schema`, `model` and `errors`. It does not know how to reach a server: `app/lock` asks them.
"""
