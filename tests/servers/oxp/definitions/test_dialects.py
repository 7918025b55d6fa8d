"""Tools of every dialect as OXP definitions: legal, distinct, without references (OXP-1 to OXP-18, OXP-20)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ferrule
from ferrule.model.tool import Tool, raw
from ferrule.schema.inlining import NotInlinable, inline
from ferrule.schema.walk import positions
from tests.servers.oxp.oxp_server import BINDINGS, running_oxp_server
from tests.servers.oxp.schemas import EXCLUDED, LISTED, fits
from tests.servers.oxp.written import definition

ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


def tool(tool_id: str, schema: Any, *, namespace: str = "shop", version: str | None = "1.0.0", **more: Any) -> Tool:
    return Tool(
        tool_id=tool_id, namespace=namespace, name=more.pop("name", tool_id), description=more.pop("description", "Does it."),
        lifecycle="available", tool_kind="function", dialect="python", version=version, input_schema=raw(schema), **more,
    )  # fmt: skip


POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"$ref": "#/$defs/Far"}}}
SHAPES = {
    "type": "object",
    "properties": {"from": {"$ref": "#/$defs/Point"}, "to": {"$ref": "#/$defs/Point", "description": "Where to."}},
    "$defs": {"Point": POINT, "Far": {"type": "integer", "minimum": 5}},
}
TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
}


def list_definitions(folder: Path, tools: list[Any], definitions: list[Any], toml: str = "") -> list[dict[str, Any]]:
    with running_oxp_server(folder, definitions=definitions, toml=toml, policy=ALLOW, tools=tools) as made:
        reply = made.ask("GET", "/oxp/tools")
        assert reply.status == 200
        body = reply.json()
        assert fits(body, LISTED), body
        found: list[dict[str, Any]] = body["tools"]
        for one in found:
            for schema in (one["input_schema"]["parameters"], one["output_schema"] or {}):
                jsonschema_rs.meta.validate(schema)
                assert not any(EXCLUDED & place.schema.keys() for place in positions(schema))
        ids = [one["id"] for one in found]
        assert len(set(ids)) == len(ids)
        return found


def test_tools_of_other_dialects_are_said_in_oxp(tmp_path: Path) -> None:
    """OXP-2, OXP-4, OXP-10, OXP-11"""
    tools = [
        tool("move.it", SHAPES, name="move.it", namespace="my-shop", version="2.1.0"),
        tool("plain", {}, description="", version=None),
        tool("named " + "x" * 100, {"type": "object", "properties": {"camelCase_name": True, "no": False}}),
        tool("beta", {"type": "object"}, version="1.0.0-beta"),
    ]
    found = {one["id"]: one for one in list_definitions(tmp_path, tools, [])}
    moved = found["my_shop.move_it@2.1.0"]
    parameters = moved["input_schema"]["parameters"]["properties"]
    assert parameters["from"]["properties"]["y"] == {"type": "integer", "minimum": 5}
    assert parameters["to"]["description"] == "Where to."
    assert parameters["from"]["description"] == "from"
    assert found["shop.plain@1.0.0"]["description"]
    assert found["shop.beta@1.0.0"]["version"] == "1.0.0"
    (long,) = [one for one in found.values() if one["name"].startswith("named")]
    assert len(long["name"]) == 64
    assert long["input_schema"]["parameters"]["properties"]["camelCase_name"]["description"] == "camel Case name"


def test_two_tools_never_share_an_id_or_a_name(tmp_path: Path) -> None:
    """OXP-3, OXP-8"""
    tools = [
        tool("a", {}, namespace="my-shop", name="buy.it"),
        tool("b", {}, namespace="my_shop", name="buy.it"),
        tool("c", {}, namespace="my.shop", name="buy_it"),
    ]
    found = list_definitions(tmp_path, tools, [definition("my_shop.buy_it@1.0.0", name="buy_it")])
    assert len(found) == 4
    assert len({one["name"] for one in found}) == 4
    (own,) = [one for one in found if one["id"] == "my_shop.buy_it@1.0.0"]
    assert own["description"] == "Does what my_shop.buy_it does.", "what is written in OXP keeps its id"


def test_a_schema_that_refers_to_itself_is_left_out_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """OXP-11: never a broken definition."""
    with caplog.at_level(logging.WARNING):
        found = list_definitions(tmp_path, [tool("tree", TREE), tool("fine", {})], [])
    assert [one["id"] for one in found] == ["shop.fine@1.0.0"]
    assert "'tree'" in caplog.text and "refers to itself" in caplog.text


def test_an_output_that_refers_to_itself_promises_anything(tmp_path: Path) -> None:
    """OXP-13"""
    found = list_definitions(tmp_path, [tool("tree", {}, output_schema=raw(TREE))], [])
    assert found[0]["output_schema"] == {}


def test_a_definition_in_oxp_is_listed_as_it_is(tmp_path: Path) -> None:
    """OXP-20, OXP-50: in every version."""
    written = [
        definition("Any.Thing@1.0.0", {"type": "object", "properties": {"x": {"description": "X."}}}, {"type": "string"},
                   requirements={"user_id": True, "more": 1}),
        definition("Any.Thing@2.0.0", output=None),
    ]  # fmt: skip
    found = list_definitions(tmp_path, [], written)
    assert sorted(json.dumps(one, sort_keys=True) for one in found) == sorted(
        json.dumps(one, sort_keys=True) for one in written
    )


def test_nothing_at_all_is_an_empty_list(tmp_path: Path) -> None:
    """OXP-20"""
    assert list_definitions(tmp_path, [], []) == []


def test_more_tools_than_a_surface_shows_are_all_listed_and_callable(tmp_path: Path) -> None:
    """OXP-20: nothing is deferred, for there is no search."""
    made = []
    for number in range(60):

        @ferrule.tool(name=f"tool_{number}", namespace="many", read_only=True)
        def one() -> int:
            """Gives one."""
            return 1

        made.append(one)
    with running_oxp_server(tmp_path, definitions=[], toml="", policy=ALLOW, tools=made) as served:
        assert len(served.ask("GET", "/oxp/tools").json()["tools"]) == 60
        assert served.call(tool_id="many.tool_59").json()["result"]["value"] == 1


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([{}, True, {"type": "string"}, *({"$ref": ref} for ref in ("#/$defs/a", "#/$defs/b", "#", "other"))]),
    lambda below: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, below),
        st.builds(lambda members: {"type": "object", "properties": members}, st.dictionaries(st.sampled_from("xyz"), below)),
        st.builds(lambda those: {"anyOf": those}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda one: {"$ref": "#/$defs/a", "minLength": 1, "not": one}, below),
    ),
    max_leaves=8,
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("xyz"), below, max_size=2),
    max_leaves=6,
)


@given(SCHEMAS, SCHEMAS, SCHEMAS, st.lists(VALUES, max_size=4))
def test_inlining_changes_nothing_that_a_schema_says(root: Any, a: Any, b: Any, values: list[Any]) -> None:
    """OXP-11"""
    schema = {"allOf": [root], "$defs": {"a": a, "b": b}}
    try:
        plain = inline(schema)
        before = jsonschema_rs.validator_for(schema)
    except (NotInlinable, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
        return
    assert not any(EXCLUDED & place.schema.keys() for place in positions(plain))
    after = jsonschema_rs.validator_for(plain)
    for value in values:
        assert before.is_valid(value) == after.is_valid(value)


def test_references_that_explode_are_given_up() -> None:
    """OXP-11: within bounds."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for number in range(1, 30):
        ref = {"$ref": f"#/$defs/d{number - 1}"}
        definitions[f"d{number}"] = {"anyOf": [ref, ref]}
    with pytest.raises(NotInlinable):
        inline({"$ref": "#/$defs/d29", "$defs": definitions})


def _nothing_done() -> None:
    """For a definition that only has to be listed."""


def test_a_secret_that_is_here_already_is_not_asked_of_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OXP-37, OXP-39: who reads that something is required has to bring it."""
    monkeypatch.setenv("OXP_TEST_BOUND_KEY", "here already, and long")
    both = [{"id": "BOUND_KEY"}, {"id": "OTHER_KEY"}]
    written = [
        definition("Bound.All@1.0.0", requirements={"secrets": both[:1]}),
        definition("Bound.Half@1.0.0", requirements={"secrets": both, "user_id": True, "more": 1}),
        definition("Bound.None@1.0.0", requirements={"secrets": both[1:]}),
    ]
    runs = [ferrule.tool(one["id"])(_nothing_done) for one in written]
    said = {tool["id"]: tool.get("requirements") for tool in list_definitions(tmp_path, runs, written, BINDINGS)}
    assert said == {
        "Bound.All@1.0.0": None,
        "Bound.Half@1.0.0": {"user_id": True, "more": 1, "secrets": both[1:]},
        "Bound.None@1.0.0": {"secrets": both[1:]},
    }
