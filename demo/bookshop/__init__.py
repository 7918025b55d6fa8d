"""What stands behind the demo's tools: a shop in a SQLite file, and a warehouse that is not always there."""
