"""Surfaces: from a catalog and a caller it works out which tools are shown, which are hidden and why, and searches the
rest.

It imports `infra`, `schema`, `contracts`, `model` and `errors`. It does not know executors, calls or the policy's
rules.
"""
