"""A fast reader for the plain block-style YAML most definitions are written in. Gives up at anything it is not sure of.

What it reads, `compose.py` reads to the same value (a property test compares the two); what it declines, `compose.py` reads.
"""

from __future__ import annotations

from typing import Any


class QuickLoader:
    """Reads one text, or declines."""

    def __init__(self, text: str) -> None:
        self.text = text

    def load(self) -> dict[str, Any] | None:
        """The mapping, or None to decline."""
        return None
