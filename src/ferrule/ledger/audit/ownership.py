"""Whose data a row holds."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.ledger import RawRow
from ferrule.ledger.audit.kinds import LAST_CALL_KIND
from ferrule.model.journal import Header


class _Top(msgspec.Struct, gc=False, array_like=True):
    header: Header


_decode_top = msgspec.msgpack.Decoder(_Top).decode
_decode_facts = msgspec.msgpack.Decoder(dict[str, Any]).decode


def is_of(row: RawRow, principal: str) -> bool:
    """True when a row was written on behalf of a principal. News does not tell: ask about another row of its call."""
    if row.kind > LAST_CALL_KIND:
        return _decode_facts(row.body).get("principal") == principal
    return _decode_top(row.body).header.principal == principal
