"""Times in queries: RFC 3339, or less of it. The pattern in the OpenAPI document says exactly what is taken: by it nobody can
write a day that no calendar has."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from ferrule.model.timestamps import parse_iso
from ferrule.servers.api.problems import Problem

_DAY = "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
_LEAP_YEAR = "(?:19(?:7[26]|8[048]|9[26])|[2-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)"
_DATE = f"(?:(?:19[7-9][0-9]|[2-9][0-9]{{3}})-{_DAY}|{_LEAP_YEAR}-02-29)"
_HOUR_AND_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
PATTERN = f"{_DATE}(?:T{_HOUR_AND_MINUTE}(?::[0-5][0-9](?:[.][0-9]{{1,9}})?)?(?:Z|[+-]{_HOUR_AND_MINUTE})?)?"
"""All of a time. From 1970 on: nothing is on record that is older."""
_TIME = re.compile(PATTERN)
Time = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": f"^{PATTERN}$"})]
"""What `moment` reads."""


def moment(name: str, text: str | None) -> int | None:
    """A time in a query, in microseconds since 1970; what it does not say is midnight, and UTC. Raises Problem."""
    if text is None:
        return None
    if not _TIME.fullmatch(text):
        wanted = "a time as RFC 3339 writes it, from 1970 on: 2026-01-31, 2026-01-31T12:00:00Z"
        raise Problem(400, "invalid_query", f"the parameter {name!r} takes {wanted}")
    return parse_iso(text)
