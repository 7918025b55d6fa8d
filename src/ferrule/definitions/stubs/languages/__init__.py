"""The languages of stubs, one folder each; `builtin.py` lists them.

They implement `contracts/language.py` and import `definitions/stubs`, `contracts` and `model`. They write text and do
not know files on disk or workspaces.
"""
