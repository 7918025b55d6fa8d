"""Bounds as draft 4 wrote them: `exclusiveMinimum: true` beside `minimum`."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting import PROFILES, fit


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_provider_is_sent_a_bound_that_is_no_number(profile: str) -> None:
    bounds = {"minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"count": {"type": "integer", **bounds}},
        "required": ["count"],
    }
    count = fit(schema, PROFILES[profile]).schema["properties"]["count"]
    assert not any(isinstance(count.get(word), bool) for word in bounds)
    if "exclusiveMinimum" in count:
        assert count["exclusiveMinimum"] == 0 and "minimum" not in count
