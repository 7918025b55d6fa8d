"""Texts of others as they may stand in a log: no control character reaches a terminal, and no text begins a line of its own."""

from __future__ import annotations

_NEXT = "\n    "


def on_one_line(text: str) -> str:
    """A text with everything escaped that cannot be seen, ends of lines too."""
    return text if text.isprintable() else "".join(map(_visible, text))


def indented(text: str) -> str:
    """A text with its further lines set in, and everything else escaped that cannot be seen."""
    return _NEXT.join("\t".join(map(on_one_line, line.split("\t"))) for line in text.split("\n"))


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
