"""Console pages for pending approvals and questions.

They import `servers/console`, `servers/api` and the layers below. They do not know stores, the pipeline or other
protocols.
"""
