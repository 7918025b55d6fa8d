"""A tool written in any dialect: what its words do not say is carried along and reported; names of credentials are found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.definitions.dialects.writing import (
    DialectDraft,
    DialectWriter,
    Shortfall,
    WrittenTool,
    build_requirements,
    find_base,
    list_secret_names,
    write_tool,
)
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool, raw

TOOL = Tool(
    tool_id="t",
    namespace="n",
    name="t",
    description="Finds.",
    lifecycle="available",
    tool_kind="function",
    dialect="oxp",
    owner="us",
    payload=raw({"id": "t"}),
)


def write_small(tool: Tool = TOOL, *beyond: str, is_plain: bool = False) -> WrittenTool:
    """The tool in a dialect that knows no owners."""

    def draft(tool: Tool) -> DialectDraft:
        return DialectDraft(
            {"name": tool.name}, {"owner": Shortfall("nobody owns a tool", "S-1", "nobody", is_default=True)}
        )

    def read(value: dict[str, Any]) -> Tool:
        return msgspec.structs.replace(TOOL, dialect="small", owner="nobody")

    def extended(value: dict[str, Any], extension: dict[str, Any]) -> dict[str, Any]:
        return {**value, EXTENSION: extension}

    return write_tool(tool, DialectWriter("small", "Small", "S-9", draft, read, extended), beyond, is_plain=is_plain)


def test_what_a_dialect_cannot_say_is_carried_and_reported() -> None:
    made = write_small()
    assert made.value[EXTENSION]["owner"] == "us"
    assert [(loss.field, loss.why, loss.instead, loss.rule) for loss in made.losses] == [
        ("owner", "nobody owns a tool", "extension", "S-1")
    ]


def test_a_plain_definition_loses_it() -> None:
    made = write_small(is_plain=True)
    assert made.value == {"name": "t"}
    assert [(loss.field, loss.instead, loss.put) for loss in made.losses] == [("owner", "default", "nobody")]


def test_words_of_the_own_dialect_alone_are_reported_by_name() -> None:
    (_, loss) = write_small(TOOL, "x-a").losses
    assert (loss.field, loss.instead, loss.rule) == ("oxp.x-a", "extension", "S-9")
    assert [loss.instead for loss in write_small(TOOL, "x-a", is_plain=True).losses] == ["default", "dropped"]


def test_a_tool_says_what_its_definition_was_in_a_dialect() -> None:
    assert find_base(TOOL, "oxp") == {"id": "t"}
    assert find_base(TOOL, "aml") is None
    assert find_base(msgspec.structs.replace(TOOL, payload=raw({})), "oxp") is None


@pytest.mark.parametrize(
    ("credentials", "names"),
    [
        (["A", "", 5], ("A",)),
        ({"environment": ["A", "B"]}, ("A", "B")),
        ({"secrets": [{"id": "A"}, {"id": "A"}, 5], "authorization": [{"id": "B"}]}, ("A", "B")),
        ({"scheme": "bearer-token", "source": "env", "name": "TOKEN"}, ("TOKEN",)),
        ({"scheme": "none"}, ()),
        ({"scheme": 5}, ()),
        ("A", ()),
    ],
)
def test_secrets_are_named_and_never_more_than_that(credentials: Any, names: tuple[str, ...]) -> None:
    assert list_secret_names(credentials) == names


def test_credentials_of_any_dialect_are_requirements_of_oxp() -> None:
    own = {"secrets": [{"id": "A", "more": 1}]}
    assert build_requirements(own) is own
    assert build_requirements(["A"]) == {"secrets": [{"id": "A"}]}
    assert build_requirements({"scheme": "bearer-token", "source": "env", "name": "TOKEN"}) == {
        "secrets": [{"id": "TOKEN"}]
    }
    assert build_requirements({"scheme": "none"}) is None
    assert build_requirements([]) is None
