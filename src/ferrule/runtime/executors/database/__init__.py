"""Tools that ask a database: one file per engine, and what they have in common."""
