"""Credentials that come with one call: for its tool alone, kept nowhere, shown in no text."""

from __future__ import annotations

_SHORTEST = 4


class Handed(dict[str, str]):
    """Secrets and tokens by the ids a tool names them by."""

    @property
    def secrets(self) -> frozenset[str]:
        """Their values, to be kept out of everything; what is too short to be one would only blot out other texts."""
        return frozenset(value for value in self.values() if len(value) >= _SHORTEST)

    def __repr__(self) -> str:
        return f"Handed({', '.join(sorted(self))})"  # tracebacks print it


NOTHING = Handed()
"""Nothing was handed over. Never changed."""
