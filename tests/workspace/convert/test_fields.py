"""Where a definition of each dialect says a field of its tool."""

from __future__ import annotations

import pytest

from ferrule.model.value import Path
from ferrule.workspace.convert.fields import find_path


@pytest.mark.parametrize(
    ("dialect", "field", "path"),
    [
        ("aml", "title", ("meta", "name")),
        ("adl", "credentials", ("inject",)),
        ("oxp", "input_schema/properties/when/format", ("input_schema", "parameters", "properties", "when", "format")),
        ("aml", "input_schema/prefixItems/0", ("interface", "input", "prefixItems", 0)),
        ("aml", "input_schema/properties/a~1b/~0c", ("interface", "input", "properties", "a/b", "~c")),
        ("agent_tool", "facts.is_destructive", ("tool_interface", "is_destructive")),
        ("aml", "facts.is_destructive", ("type",)),
    ],
)
def test_a_field_stands_where_its_dialect_says_it(dialect: str, field: str, path: Path) -> None:
    assert find_path(dialect, field) == path


def test_a_key_of_the_source_itself_is_its_own_path() -> None:
    assert find_path("aml", "aml.transport.timeout_ms") == ("transport", "timeout_ms")
    assert find_path("adl", "adl.tool.inject") == ("inject",), "an agent file has its tools one by one"


def test_a_field_that_a_dialect_has_no_words_for_stands_nowhere() -> None:
    assert find_path("adl", "output_schema") is None
    assert find_path("oxp", "aml.transport") is None
    assert find_path("nobody", "title") is None
    assert find_path("agent_tool", "title") == ("title",), "there a field has its own name"


def test_a_number_that_is_no_index_stays_a_word() -> None:
    assert find_path("aml", "input_schema/properties/1234567") == ("interface", "input", "properties", "1234567")
