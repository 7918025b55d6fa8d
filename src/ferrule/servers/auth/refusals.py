"""Log lines about refused callers and invalid tokens, limited in number.

Callers learn none of these reasons, and the log holds no text out of a token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ferrule.runtime.pipeline.redaction import escape_line

_EVERY_SECONDS = 60.0
_MOST_REASONS = 32
"""Reasons of one kind that are logged within that time."""
_LONGEST = 300
_MORE = ""
"""The entry among the reasons for those that are left out."""
_log = logging.getLogger("ferrule.serve")


class RefusalLog:
    """A log that writes each reason once a minute at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: dict[str, dict[str, float]] = {}

    def report(self, reason: str, kind: str) -> None:
        """Logs why a request was refused. An empty reason, as for a missing credential, is not worth a line.

        `kind`: one of a fixed few words; nothing that a client sends, or it could fill the memory with kinds.
        """
        if not reason:
            return
        now = self._clock()
        reason = escape_line(reason[:_LONGEST].encode("ascii", "backslashreplace").decode())[:_LONGEST]
        logged = {one: until for one, until in self._logged.get(kind, {}).items() if now < until}
        self._logged[kind] = logged
        if reason in logged:
            return
        if len(logged.keys() - {_MORE}) < _MOST_REASONS:
            logged[reason] = now + _EVERY_SECONDS
            _log.warning("refused: %s (told once a minute)", reason)
        elif _MORE not in logged:
            logged[_MORE] = now + _EVERY_SECONDS
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
    """Returns why a token is invalid, by what PyJWT raised. PyJWT's own texts quote the token, which anybody can write."""
    found = next((_REASONS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _REASONS), _OTHERWISE)
    claim = getattr(error, "claim", None)  # a claim that we require, so its name is ours
    return f"{found}: {claim}" if isinstance(claim, str) else found
