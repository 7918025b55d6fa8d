"""The scheduler: decides which call may run now, by lanes, resource locks and limits.

It imports only `model`. It reads no clock, and does not know tools, phases or results.
"""
