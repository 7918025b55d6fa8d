"""Approval: the inbox where people answer, the check that an answer opens the door, and the key that seals both."""
