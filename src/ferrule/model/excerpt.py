"""The beginning of what others wrote, for errors and records."""

from __future__ import annotations

CUT_OFF = "…"
"""Where a text was cut: the redactor looks there for the beginning of a secret, which nobody would recognise otherwise."""


def excerpt(text: str, most: int) -> str:
    """The text; its beginning, with a mark, when it is longer."""
    return text if len(text) <= most else f"{text[:most]}{CUT_OFF}"
