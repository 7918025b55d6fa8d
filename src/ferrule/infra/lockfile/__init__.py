"""The lock file: descriptions that upstream servers give of their tools, pinned; comparison with today's; tools made
from it.

It imports `schema`, `model` and `errors`. It does not know how to reach a server: `app/lock` asks them.
"""
