"""Console pages for past calls, batches, runs and their timelines.

They import `servers/console`, `servers/api` and the layers below. They do not know stores, the pipeline or other
protocols.
"""
