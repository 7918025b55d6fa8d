"""The console: HTML pages for people, over the operations of the HTTP API.

It imports `servers/api`, `servers/auth`, `access` and the layers below. It does not know stores or the pipeline: it
shows what the API answers.
"""
