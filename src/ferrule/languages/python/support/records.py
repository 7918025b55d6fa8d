"""Stands for the records of whichever flavour was chosen, whose file is copied here."""

from __future__ import annotations

from .records_dataclass import Layout as Layout
from .records_dataclass import Member as Member
from .records_dataclass import is_record as is_record
from .records_dataclass import made as made
from .records_dataclass import members_of as members_of
