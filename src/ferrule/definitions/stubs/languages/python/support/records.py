"""Stands for the records of whichever flavour was chosen, whose file is copied here."""

from __future__ import annotations

from .records_dataclass import is_record, made, members_of

__all__ = ["is_record", "made", "members_of"]
