"""History: turns rows of the ledger into events, summaries, and the story of one call.

Pure: it takes rows and reads nothing. It imports `contracts`, `model` and `errors`. It does not know stores or how a
story is shown.
"""
