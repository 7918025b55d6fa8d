"""Read models for people: the catalog to browse, past calls, decisions, and the evidence for a pending approval.

They import `app/preview`, the engines and the layers below. They do not know pages, HTTP or permissions of viewers.
"""
