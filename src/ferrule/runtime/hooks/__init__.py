"""Shelf: how a hook is reached: a function, a command, an address; and guardrails, which are hooks that judge."""
