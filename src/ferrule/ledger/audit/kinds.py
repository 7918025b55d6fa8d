"""The kinds of rows by the numbers they are stored with."""

from __future__ import annotations

from ferrule.ledger.chain import kind_number

CALL, PARKED, ANSWERED = kind_number("call"), kind_number("parked"), kind_number("answered")
STARTED, ENDED, UNKNOWN = kind_number("started"), kind_number("ended"), kind_number("unknown")
SWITCH, ERASED, PRUNED, OPENED = (
    kind_number("switch"), kind_number("erased"), kind_number("pruned"), kind_number("opened"),
)  # fmt: skip
NEWS = kind_number("news")
LAST_CALL_KIND = UNKNOWN
"""Kinds up to this one move calls."""
