"""What a person judges a waiting call by: the thing that it is about, which can be typed."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.views.evidence import Thing, find_thing


@pytest.mark.parametrize(
    ("value", "thing"),
    [
        ({"reason": "late", "customer_id": "c-1", "email": "x"}, Thing("customer_id", "c-1")),
        ({"orderNumber": 7, "name": "x"}, Thing("orderNumber", "7")),
        ({"id": "[REDACTED]", "email": "a@b.c"}, Thing("email", "a@b.c")),
        ({"id": "a\u202eb", "note": "x"}, Thing("", "erase")),
        ({"id": "x" * 81}, Thing("", "erase")),
        ({"id": " x "}, Thing("", "erase")),
        ({"id": True, "path": {"id": "y"}}, Thing("", "erase")),
        ("text", Thing("", "erase")),
        (None, Thing("", "erase")),
    ],
)
def test_what_is_typed_names_the_thing_and_can_be_typed(value: Any, thing: Thing) -> None:
    assert find_thing(value, "erase") == thing
