"""The Model Context Protocol, four revisions of it, on an own wire."""
