"""Rules that compare two states of a workspace: the published one and the one that would be published.

They import `schema/validation`, `contracts` and `model`. They do not know where the two states come from.
"""
