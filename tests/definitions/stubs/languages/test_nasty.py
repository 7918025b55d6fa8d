"""The catalog of schemas says of each value what the validator of calls says."""

from __future__ import annotations

import msgspec
import pytest

from ferrule.schema.validation.validators import compile_schema
from tests.definitions.stubs.languages.nasty import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_catalog_agrees_with_the_validator(case: Case) -> None:
    judge = compile_schema(msgspec.json.encode(case.schema))
    assert [value for value in case.accepts if not judge.is_valid(value)] == []
    assert [value for value in case.refuses if judge.is_valid(value)] == []
