"""Words for the log about callers that are not let in and tokens that do not count. Callers are told nothing of it, and the
log holds none of a token's own words.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ferrule.runtime.pipeline.redaction import on_one_line

_EVERY_SECONDS = 60.0
_MOST_REASONS = 32
"""Of one kind, within that time."""
_LONGEST = 300
_MORE = ""
"""Stands among the reasons for those that are not told."""
_log = logging.getLogger("ferrule.serve")


class RefusalLog:
    """Tells each reason once a minute at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, dict[str, float]] = {}

    def tell(self, reason: str, kind: str) -> None:
        """Somebody was refused. Without a reason, as for want of a credential, there is nothing to tell. `kind`: one of a few
        words; what a client sends is no part of it."""
        if not reason:
            return
        now = self._clock()
        reason = on_one_line(reason[:_LONGEST].encode("ascii", "backslashreplace").decode())[:_LONGEST]
        told = {one: until for one, until in self._told.get(kind, {}).items() if now < until}
        self._told[kind] = told
        if reason in told:
            return
        if len(told.keys() - {_MORE}) < _MOST_REASONS:
            told[reason] = now + _EVERY_SECONDS
            _log.warning("refused: %s (told once a minute)", reason)
        elif _MORE not in told:
            told[_MORE] = now + _EVERY_SECONDS
            _log.warning(
                "refused: more, for other reasons (%s), which are not told: %d were within a minute",
                kind,
                _MOST_REASONS,
            )


_REASONS = {
    "ExpiredSignatureError": "it has expired",
    "ImmatureSignatureError": "it does not count yet",
    "InvalidSignatureError": "its signature is not one of the key",
    "InvalidAlgorithmError": "it is signed with an algorithm that is not taken",
    "InvalidAudienceError": "its aud is somebody else",
    "InvalidIssuerError": "its iss is somebody else",
    "InvalidIssuedAtError": "its iat is no time",
    "MissingRequiredClaimError": "it lacks a claim",
    "InvalidTokenError": "it is no JWT, or one that cannot be read here",
}
_OTHERWISE = "it cannot be read"


def reason_of(error: Exception) -> str:
    """Why a token does not count, by what PyJWT raised. Its own texts hold what is in the token, which anybody can write."""
    found = next((_REASONS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _REASONS), _OTHERWISE)
    claim = getattr(error, "claim", None)  # one that we ask for
    return f"{found}: {claim}" if isinstance(claim, str) else found
