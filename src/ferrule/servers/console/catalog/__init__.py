"""Console pages for tools, agents and trial calls.

They import `servers/console`, `servers/api` and the layers below. They do not know stores, the pipeline or other
protocols.
"""
