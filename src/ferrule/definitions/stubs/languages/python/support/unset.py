"""What a member is that may be null, and is left out."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias


class _Left(Enum):
    OUT = "UNSET"

    def __repr__(self) -> str:
        return self.value

    def __bool__(self) -> bool:
        return False


UnsetType: TypeAlias = Literal[_Left.OUT]
"""The type of `UNSET`: `if value is not UNSET` tells it from other types."""
UNSET: Final = _Left.OUT
"""Left out, which is something else than null."""
