"""Text and JSON that commands print: tables, stories, progress and reports.

It imports `cli`, `app` and the layers below. It changes nothing, and does not know options or exit codes.
"""
