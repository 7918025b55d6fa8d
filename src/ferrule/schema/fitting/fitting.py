"""`fit`: a tool's schema as a provider takes it, and how to turn an answer back. The same schema is fitted once."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.schema.fitting.change import Fitted, Unfit
from ferrule.schema.fitting.profile import Profile
from ferrule.schema.fitting.roots import lightened, rewritten

_KEPT = 20_000
_LARGEST = 32_768
"""How many fitted schemas are kept, and of how many bytes at most."""
_known: dict[tuple[str, bytes], tuple[Profile, Fitted | Unfit]] = {}
_OLD = (("draft-03", 4), ("draft-04", 4), ("draft-06", 6), ("draft-07", 7))


def fit(schema: dict[str, Any], profile: Profile) -> Fitted:
    """The schema for a provider. Raises Unfit. What is given back is shared: read it, do not change it."""
    try:
        written = msgspec.json.encode(schema)
    except RecursionError:
        raise Unfit("it is nested too deep; make it flatter") from None
    except (TypeError, ValueError) as reason:
        raise Unfit(f"it cannot be written as JSON ({reason}); correct it") from None
    key = (profile.name, written)
    known = _known.get(key)
    if known is None or known[0] is not profile:
        known = profile, _fitted(schema, written, profile)
        if len(written) <= _LARGEST:
            while len(_known) >= _KEPT:
                _known.pop(next(iter(_known)), None)
            _known[key] = known
    if isinstance(known[1], Unfit):
        raise Unfit(known[1].reason, known[1].path)
    return known[1]


def _fitted(schema: Any, written: bytes, profile: Profile) -> Fitted | Unfit:
    draft = _draft_of(schema, written)
    try:
        return lightened(schema, profile, draft) if profile.accepted is None else rewritten(schema, profile, draft)
    except Unfit as reason:
        return reason


def _draft_of(schema: Any, written: bytes) -> int:
    """The draft a schema is read by: what it says, or draft 7 where only that has lists under `items`."""
    said = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(said, str):
        return next((draft for name, draft in _OLD if name in said), 2020)
    return 7 if b'"items":[' in written else 2020
