"""The application: wires the engines together, and holds the verbs that every edge calls.

It imports `workspace`, `access`, `settings`, the engines and every layer below them. It does not know wire formats,
terminals or pages: `servers` and `cli` call it.
"""
