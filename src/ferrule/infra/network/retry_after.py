"""The `Retry-After` header: how long a server wants to be left alone, in seconds or as a date (RFC 9110, 10.2.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


def retry_after(headers: Mapping[str, str], now: Callable[[], float] | None = None) -> float | None:
    """Returns the seconds; None when the header is missing or invalid. Names of headers are in lower case. A date
    counts from the server's own clock (`Date`), or else from `now`, in seconds since 1970."""
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    until, since = _moment(text), _moment(headers.get("date", ""))
    if since is None and now is not None:
        since = now()
    return None if until is None or since is None else max(0.0, round(until - since, 3))


def _moment(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # `-0000`: a time of UTC by somebody who does not say where they are
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
