"""A server over a long time."""
