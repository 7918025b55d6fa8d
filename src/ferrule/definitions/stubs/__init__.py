"""Typed stubs: schemas become type trees, tools become a plan, and what a language writes of it is kept in step on disk."""
