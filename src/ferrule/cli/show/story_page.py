"""How a page of text is laid out: labels on the left, text wrapped on the right, 100 columns."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from ferrule.definitions.reporters.excerpt import cleaned

_WIDTH = 100
_LABEL = 18


def row(label: str, value: str) -> Iterator[str]:
    """A label and its text, wrapped under itself. A long word is not torn."""
    room = _WIDTH - _LABEL - 2
    lines = textwrap.wrap(cleaned(value), room, break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield f"  {cleaned(label) if number == 0 else '':<{_LABEL}}{line}".rstrip()


def as_json(value: Any) -> str:
    """A value on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def short(digest: str) -> str:
    """The beginning of a digest: enough to compare by eye."""
    kind, _, rest = digest.rpartition(":")
    return f"{kind}:{rest[:12]}" if kind else rest[:12] or "-"
