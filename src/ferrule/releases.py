"""Releases: builds, publishes and compares. Wiring beside `workspace.py`."""
