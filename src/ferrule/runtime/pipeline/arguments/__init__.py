"""Judges the arguments of a call by its tool's schema: repairs what can be repaired and explains what is wrong.

The phases call it, and so does everything that changes an input later. It decides nothing about permission.
"""
