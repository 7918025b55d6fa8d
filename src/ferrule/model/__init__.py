"""What things are: documents, diagnostics, tools, agents, roles, catalogs. Frozen records, no I/O, no imports of ours."""
