"""Stubs in Python."""
