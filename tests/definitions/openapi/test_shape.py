"""Members that somebody else wrote are taken for what they should be, or for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.shape import read_object, read_text
from tests.definitions.openapi.operations import document_of, heading_of


@pytest.mark.parametrize("written", [None, [], "x", 3, True])
def test_a_member_that_is_no_object_is_an_empty_one(written: Any) -> None:
    assert read_object({"a": written}, "a") == {}
    assert read_object({}, "a") == {}
    assert read_object({"a": {"b": written}}, "a") == {"b": written}


@pytest.mark.parametrize("written", [None, [], {}, 3, True])
def test_a_member_that_is_no_text_is_an_empty_one(written: Any) -> None:
    assert read_text({"a": written}, "a") == ""
    assert read_text({}, "a") == ""
    assert read_text({"a": "x"}, "a") == "x"


def test_an_operation_is_called_by_its_method_and_path() -> None:
    assert heading_of(document_of(method="get", path="/pets/{id}")).label == "GET /pets/{id}"
