"""What a tool takes and what it says about the rest."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments, ParsedArguments
from tests.runtime.pipeline.arguments.contracts import ADD, explain_refusal, fields, tool

OPEN: dict[str, Any] = {"type": "object"}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def parsed(schema: Any, raw: bytes, **contract: Any) -> ParsedArguments:
    found = Arguments.of(tool(schema, **contract)).parse(raw)
    assert isinstance(found, ParsedArguments), found
    return found


def test_fitting_arguments_come_back_unchanged() -> None:
    found = parsed(ADD, b'{"a": 1, "b": 2}')
    assert found.arguments == {"a": 1, "b": 2}
    assert found.changes == ()
    assert found.encoded == b""


@pytest.mark.parametrize("raw", [b'{"tenant": "x"}', b'{"deep": {"tenant": 1}}', b'{"list": [{"tenant": 1}]}'])
def test_an_internal_field_is_refused_at_every_depth(raw: bytes) -> None:
    """AT-59: even when the schema allows additional properties; and AT-56: its name is not told."""
    told = explain_refusal(OPEN, raw, internal_only_fields=["tenant"])
    assert "tenant" not in told


def test_an_internal_field_inside_a_string_is_refused_too() -> None:
    schema = {"type": "object", "properties": {"deep": {"type": "object"}}}
    raw = b'{"deep": "{\\"tenant\\": 1}"}'
    assert "tenant" not in explain_refusal(schema, raw, internal_only_fields=["tenant"])


def test_a_leaked_internal_field_is_no_part_of_the_models_schema() -> None:
    """AT-55, AT-56: what the definition leaks is neither asked of the model nor told to it."""
    schema = fields("a", "tenant", a={"type": "integer"}, tenant={"type": "string"})
    arguments = Arguments.of(tool(schema, internal_only_fields=["tenant"]))
    assert isinstance(arguments.parse(b'{"a": 1}'), ParsedArguments)
    problem = arguments.parse(b"{}")
    assert isinstance(problem, ArgumentProblem)
    assert "tenant" not in problem.message


def test_a_changed_input_is_judged_by_the_runtime_schema() -> None:
    """AT-57, AT-81: what a hook filled in fits there, and only there."""
    runtime = fields("a", a={"type": "integer"}, tenant={"type": "string", "visibility": "internal"})
    arguments = Arguments.of(tool(fields("a", a={"type": "integer"}), runtime))
    assert isinstance(arguments.parse(b'{"a": 1, "tenant": "x"}'), ArgumentProblem)
    assert arguments.parse_runtime(b'{"a": 1, "tenant": "x"}') == ParsedArguments({"a": 1, "tenant": "x"})
    for wrong in (b'{"a": 1, "tenant": 5}', b'{"a": "1"}', b"[]", b"", b"{"):
        problem = arguments.parse_runtime(wrong)
        assert isinstance(problem, ArgumentProblem)
        assert "tenant" not in problem.message


def test_defaults_of_the_contract_fill_what_was_not_sent() -> None:
    """AT-83: reported as the runtime's change; a default that does not fit is left out."""
    schema = fields("a", a={"type": "integer"}, b={"type": "integer"}, c={"type": "integer"})
    found = parsed(schema, b'{"a": 1}', defaults={"a": 9, "b": 2, "c": "wrong"})
    assert found.arguments == {"a": 1, "b": 2}
    assert [(change.source_type, change.changed_fields) for change in found.changes] == [("runtime", ("b",))]
    assert found.encoded == b'{"a":1,"b":2}'


def test_defaults_in_a_schema_are_not_injected() -> None:
    assert parsed(fields(a={"type": "integer", "default": 3}), b"{}").arguments == {}


def test_a_text_tool_receives_a_string() -> None:
    """AT-85: sent as such, or as the one field of the object that function calling asks for."""
    assert parsed({"type": "string"}, b'"hello"', argument_mode="text").arguments == "hello"
    schema = fields("text", text={"type": "string"})
    found = parsed(schema, b'{"text": "hello"}', argument_mode="text")
    assert found.arguments == "hello"
    assert found.changes[0].source_type == "adapter"
    assert "must be a text" in explain_refusal({"type": "string"}, b"[1]", argument_mode="text")


def test_a_name_given_twice_is_refused_however_it_is_written() -> None:
    twice = [
        b'{"a": 1, "a": 2}',
        b'{"a" : 1, "a" : 2, "b": 3}',
        b'{"a": 1, "\\u0061": 2}',
        b'{"a": 1, "a": 2, "b": "\\u003a"}',
        b'{"deep": {"a": 1, "a": 2}}',
        b'{"list": [{"a": "x:y", "a": "z"}]}',
        b'{"a": {"b": 1}, "a": {"c": 1}}',
    ]
    for raw in twice:
        assert "twice" in explain_refusal(OPEN, raw), raw


KEYS = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"a:"', '":"', '""'])
SPACES = st.sampled_from(["", " ", "\n", "\t "])


@st.composite
def written(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """An object as text, perhaps with a name twice, with spaces and escapes wherever JSON allows them."""
    members = draw(st.lists(st.tuples(KEYS, SPACES, SPACES, inner), max_size=4))
    return "{" + ",".join(f"{before}{key}{after}:{before}{value}" for key, before, after, value in members) + "}"


LEAVES = st.sampled_from(["1", "null", '"x"', '"x:y"', '"\\u003a"', '"\\":"', '"\\\\"', "[]", "[{}]", str(2**63)])
TEXTS = st.recursive(LEAVES, lambda inner: written(inner) | inner.map(lambda text: f"[{text},{text}]"), max_leaves=8)


class TwiceError(Exception):
    pass


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise TwiceError
    return dict(pairs)


@given(written(TEXTS))
def test_exactly_the_texts_with_a_name_twice_are_refused(text: str) -> None:
    try:
        meant = json.loads(text, object_pairs_hook=distinct)
    except TwiceError:
        assert "twice" in explain_refusal(OPEN, text.encode())
    else:
        assert parsed(OPEN, text.encode()).arguments == meant


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_what_json_encodes_is_not_mistaken_for_hostile(value: dict[str, Any]) -> None:
    assert parsed(OPEN, msgspec.json.encode(value)).arguments == value


@given(st.binary(max_size=60) | JSON.map(msgspec.json.encode))
def test_nothing_a_model_sends_raises(raw: bytes) -> None:
    for contract in ({}, {"internal_only_fields": ["a"]}, {"argument_mode": "text"}, {"defaults": {"a": 1}}):
        found = Arguments.of(tool(ADD, **contract)).parse(raw)
        assert isinstance(found, ParsedArguments | ArgumentProblem)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"[" * 200_000, "nested"),
        (b'{"a":' * 400 + b"1" + b"}" * 400, "nested"),
        (b'{"a": ' + b"[" * 150 + b"]" * 150 + b"}", "nested"),
        (b'{"a": 123456789012345678901234567890}', "past 64 bits"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "not valid JSON"),
        (b'{"a": "' + b"x" * 1_000_001 + b'"}', "at most 1000000"),
    ],
)
def test_hostile_texts_are_refused_at_once(raw: bytes, told: str) -> None:
    arguments = Arguments.of(tool(OPEN))
    begun = time.perf_counter()
    problem = arguments.parse(raw)
    assert time.perf_counter() - begun < 2
    assert isinstance(problem, ArgumentProblem)
    assert told in problem.message


def test_explaining_a_long_misfit_does_not_hold_up_everybody_else() -> None:
    arguments = Arguments.of(tool(fields("x", x={"type": "array", "items": {"type": "string"}})))
    raw = msgspec.json.encode({"x": list(range(100_000))})
    begun = time.perf_counter()
    problem = arguments.parse(raw)
    assert time.perf_counter() - begun < 0.5
    assert isinstance(problem, ArgumentProblem)
    assert "'x[0]' must be text" in problem.message


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}, "'x[0]' must be text; it is 0"),
        (
            {"anyOf": [{"type": "array", "items": {"type": kind}} for kind in ("string", "boolean")]},
            "'x' has a form that is not allowed; it is a list",
        ),
    ],
)
def test_of_alternatives_for_a_long_list_no_more_is_looked_for_than_is_told(schema: Any, told: str) -> None:
    arguments = Arguments.of(tool(fields("x", x=schema)))
    raw = msgspec.json.encode({"x": list(range(100_000))})
    begun = time.perf_counter()
    problem = arguments.parse(raw)
    (complaint,) = arguments.list_misfits(raw, 50)
    assert time.perf_counter() - begun < 0.5
    assert isinstance(problem, ArgumentProblem)
    assert problem.message.endswith(f": {told}")
    assert complaint.text == told


def test_a_long_list_for_alternatives_that_refer_to_one_another_is_refused_without_a_reason() -> None:
    choice = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"$ref": "#/properties/x/anyOf/0"}]}
    assert explain_refusal(fields("x", x=choice), msgspec.json.encode({"x": [1] * 2000})).endswith("they do not fit")


def test_a_pattern_that_backtracks_gives_up() -> None:
    arguments = Arguments.of(tool(fields("x", x={"type": "string", "pattern": "^(?=(a+)+b)(a|a)*$"})))
    begun = time.perf_counter()
    assert isinstance(arguments.parse(msgspec.json.encode({"x": "a" * 5000})), ArgumentProblem)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "https://elsewhere.test/schema.json"}, False])
def test_a_schema_that_cannot_be_used_refuses_every_call(schema: Any) -> None:
    arguments = Arguments.of(tool(schema))
    assert isinstance(arguments.parse(b"{}"), ArgumentProblem)
    assert isinstance(arguments.parse_runtime(b"{}"), ArgumentProblem)


def test_lists_under_items_are_read_as_the_older_draft() -> None:
    schema = fields(x={"type": "array", "items": [{"type": "string"}]})
    assert parsed(schema, b'{"x": ["a", 1]}').arguments == {"x": ["a", 1]}
    assert "x[0]" in explain_refusal(schema, b'{"x": [[1], 1]}')
