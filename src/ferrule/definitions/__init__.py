"""Compile time: reads definition files, checks them, and builds a sealed catalog; writes other formats and stubs.

One of three engines. It imports `infra`, `schema`, `contracts`, `model` and `errors`, never `runtime` or `ledger`. It
does not know that tools are ever called.
"""
