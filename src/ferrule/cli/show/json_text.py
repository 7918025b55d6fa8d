"""JSON for programs: indented, as UTF-8, and always JSON, whatever number a tool answered with."""

from __future__ import annotations

from typing import Any

import msgspec


def json_text(value: Any) -> str:
    """The value as indented JSON; NaN and the infinities, which JSON lacks, become null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
