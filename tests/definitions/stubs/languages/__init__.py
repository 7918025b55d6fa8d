"""Stubs in every language: the same catalog of schemas, real compilers, real servers."""
