"""The ways to run a tool: one file or folder each; `builtin.py` lists them.

They implement `contracts/executor.py` and import `infra`, `contracts`, `model` and, to run functions,
`runtime/functions`. They do not know policy, approvals, hooks or the ledger.
"""
