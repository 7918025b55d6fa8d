"""What a changed schema asks more of a caller, and what it promises less to a reader, in words."""

from __future__ import annotations

import pytest

from ferrule.model.semver import Bump
from tests.definitions.compiler.schemas import TEXT, change, of, q


def test_changes_are_told_in_words() -> None:
    found = change(of({"f": of({"a": TEXT, "b": TEXT})}), of({"f": of({"a": {"type": "string", "maxLength": 5}})}))
    assert [item.text for item in found.narrowed] == [
        "`f.b` was removed",
        "`f.a` has its longest length set to 5",
    ]


WEAKENED = {
    "member removed": (of({"a": TEXT, "b": TEXT}), of({"a": TEXT})),
    "nested member removed": (of({"a": of({"b": TEXT})}), of({"a": of({})})),
    "no longer required": (of({"a": TEXT}, required=["a"]), of({"a": TEXT})),
    "type widened": (q(type="string"), q(type=["string", "null"])),
    "integer to number": (q(type="integer"), q(type="number")),
    "type changed": (q(type="string"), q(type="integer")),
    "type lifted": (q(type="string"), q()),
    "enum widened": (q(enum=["a"]), q(enum=["a", "b"])),
    "enum lifted": (q(type="string", enum=["a"]), q(type="string")),
    "list items widened": (q(type="array", items=TEXT), q(type="array", items={"type": ["string", "null"]})),
}


KEPT = {
    "member added": (
        of({"a": TEXT}, additionalProperties=False),
        of({"a": TEXT, "b": TEXT}, additionalProperties=False),
    ),
    "now required": (of({"a": TEXT}), of({"a": TEXT}, required=["a"])),
    "type narrowed": (q(type=["string", "null"]), q(type="string")),
    "enum narrowed": (q(enum=["a", "b"]), q(enum=["a"])),
    "bound loosened": (q(type="string", maxLength=3), q(type="string", maxLength=4)),
    "texts": (q(type="string"), q(type="string", description="New.")),
}


@pytest.mark.parametrize("name", [*WEAKENED, *KEPT])
def test_results_that_promise_less_are_told(name: str) -> None:
    found = change(*(WEAKENED.get(name) or KEPT[name]), result=True)
    assert bool(found.weakened) is (name in WEAKENED)
    assert found.needed is not Bump.MAJOR
