"""The vocabulary: documents, diagnostics, tools, catalogs, surfaces, calls, decisions, results and events.

Frozen records without I/O, and the story that the rows of one call tell. Lowest layer: it imports only `ferrule.errors`.
It does not know who reads, stores or sends its records.
"""
