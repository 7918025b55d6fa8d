"""Hooks around a call, one file per way to reach one (function, command, HTTP), and guardrails, which are hooks that
judge.

`builtin.py` lists them. They implement `contracts/hook.py` and import `runtime/functions`, `infra`, `contracts` and
`model`. They do not know the phase that runs them.
"""
