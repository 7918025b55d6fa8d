"""Pins the descriptions of upstream tools: asks each server, compares with the lock file, and accepts changes.

It imports `app`, `workspace`, `settings` and the layers below. It does not know how a change is shown.
"""
