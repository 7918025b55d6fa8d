"""Stubs of a workspace's tools: the catalog in, files on disk out. The wiring of `codegen/` with the languages on their shelf."""
