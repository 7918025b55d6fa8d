"""The built-in tools of ADL: read, write, edit, bash and fetch. Off until an agent file enables them, and confined.

They import `runtime/functions`, `infra`, `contracts` and `model`. They do not know the policy: the pipeline asks it
first.
"""
