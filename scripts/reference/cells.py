"""Writes text into cells of Markdown tables."""

from __future__ import annotations


def cell(text: str) -> str:
    """Text that cannot break a Markdown table."""
    return text.replace("|", "\\|")
