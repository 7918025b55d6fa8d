"""Values of schemas go through generated types unchanged, and types say what they can of a schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from tests.definitions.stubs.languages.nasty import CASES, Case
from tests.definitions.stubs.languages.rust.conftest import RANDOM, Tried
from tests.definitions.stubs.languages.rust.crates import Given, planned
from tests.schema.fitting.schemas import arguments

_BEYOND = (2**63, 1e300)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_accepted_values_come_back(tried: Tried, case: Case) -> None:
    stem = tried.stem(case.name)
    answers = tried.answers({"tool": stem, "text": json.dumps(value)} for value in case.accepts)
    for value, answer in zip(case.accepts, answers, strict=True):
        assert "text" in answer, (value, answer)
        assert _is_kept(value, json.loads(answer["text"])), (value, answer)


def _is_kept(value: Any, found: Any) -> bool:
    """Whether nothing was changed; members that a schema says nothing of may be gone."""
    if isinstance(value, dict) and isinstance(found, dict):
        return found.keys() <= value.keys() and all(_is_kept(value[name], each) for name, each in found.items())
    if isinstance(value, list) and isinstance(found, list):
        return len(value) == len(found) and all(map(_is_kept, value, found))
    return (type(value) is type(found) and value == found) or (
        _is_number(value) and _is_number(found) and value == found
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_values_of_random_schemas_come_back(tried: Tried) -> None:
    lines: list[dict[str, str]] = []
    said: list[Any] = []
    for name, schema in RANDOM.items():
        for value in arguments(schema, 8):
            # A root that says nothing of its type is taken for an object: arguments are.
            is_meant = "type" in schema or isinstance(value, dict)
            if is_meant and not any(json.dumps(each) in json.dumps(value) for each in _BEYOND):
                lines.append({"tool": tried.stem(name), "text": json.dumps(value)})
                said.append(value)
    for value, line, answer in zip(said, lines, tried.answers(lines), strict=True):
        assert "text" in answer, (RANDOM[line["tool"].replace("_", " ")], line, answer)
        assert _is_kept(value, json.loads(answer["text"])), (RANDOM[line["tool"].replace("_", " ")], line, answer)
    assert len(said) > 80


def test_what_a_type_knows_to_be_wrong_is_refused(tried: Tried) -> None:
    """What serde refuses of the values that a schema refuses: other kinds, other words, members that are missing or unknown."""
    cases = {case.name: case for case in CASES}
    lines = [
        {"tool": tried.stem(name), "text": json.dumps(value)}
        for name in ("scalars", "enums")
        for value in cases[name].refuses
    ]
    loose = [line for line, answer in zip(lines, tried.answers(lines), strict=True) if "error" not in answer]
    assert [json.loads(line["text"]) for line in loose] == [
        {"unit": "celsius", "version": 3},
        {"unit": "celsius", "mixed": False},
        {"unit": "celsius", "mixed": 2},
    ]


def test_integers_are_never_rounded(tried: Tried) -> None:
    stem = tried.stem("ranges")
    texts = [
        '{"unsigned": 18446744073709551615}',
        '{"byte": 1.2e1}',
        '{"even": 9223372036854775808}',
        '{"positive": 1e30}',
    ]
    answers = tried.answers({"tool": stem, "text": text} for text in texts)
    assert json.loads(answers[0]["text"]) == {"unsigned": 18446744073709551615}
    assert json.loads(answers[1]["text"]) == {"byte": 12}
    assert all("error" in answer for answer in answers[2:])


def test_integers_that_a_type_holds_come_back(tried: Tried) -> None:
    value = {"list": [-(2**63)], "unsigned": 2**64 - 1, "mixed": 2**63, "number": 1e300, "other": 2**63 - 1}
    [answer] = tried.answers([{"tool": tried.stem("integers"), "text": json.dumps(value)}])
    assert json.loads(answer["text"]) == value


def test_what_rust_cannot_say_is_told() -> None:
    huge = {"type": "integer", "minimum": -1, "maximum": 2**64}
    written = LANGUAGE.write(planned([Given("loud", {"type": "object", "properties": {"a": huge}})]))
    assert ["64 bits" in each.note.message for each in written.notes] == [True]


def _declared(schema: Any) -> str:
    """The types of a tool with one member, `a`."""
    plan = planned([Given("get", {"type": "object", "properties": {"a": schema}})])
    text = next(each.text for each in LANGUAGE.write(plan).files if each.path == "src/tools/generated/get.rs")
    return text.partition("pub struct GetInput")[2]


_INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "a: Option<Value>"),
        ({"type": "array", "items": {"type": "number"}}, "a: Option<Vec<f64>>"),
        ({"type": ["boolean", "null"]}, "a: Option<Option<bool>>"),
        ({"type": "object", "additionalProperties": _INTEGER}, "a: Option<BTreeMap<String, i64>>"),
        (
            {"type": "array", "prefixItems": [_INTEGER, {"type": "string"}], "items": False, "minItems": 2},
            "(i64, String)",
        ),
        ({"type": "array", "prefixItems": [_INTEGER], "minItems": 1}, "a: Option<Vec<Value>>"),
        ({"type": "integer", "minimum": 0, "maximum": 2**63}, "a: Option<u64>"),
        ({"const": 5}, '/// Always 5.\n    #[serde(skip_serializing_if = "Option::is_none")]\n    pub a: Option<i64>'),
        ({"const": "x"}, 'pub enum GetInputA {\n    #[default]\n    #[serde(rename = "x")]\n    X,\n}'),
        ({"enum": [1, 2]}, "#[repr(i64)]\npub enum GetA {\n    N1 = 1,"),
    ],
)
def test_each_type_has_one_of_rust(schema: Any, expected: str) -> None:
    assert expected in _declared(schema)


def test_a_type_that_has_itself_inside_is_boxed() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    plan = planned([Given("get", {**node, "$defs": {"node": node}})])
    assert any("pub next: Box<" in each.text for each in LANGUAGE.write(plan).files)


def test_a_union_with_a_tag_is_told_apart_by_it() -> None:
    def branch(kind: str) -> Any:
        return {"type": "object", "properties": {"kind": {"const": kind}, "n": _INTEGER}, "required": ["kind"]}

    made = _declared({"oneOf": [branch("one"), branch("two")]})
    assert '#[serde(tag = "kind")]\npub enum GetA {\n    #[serde(rename = "one")]\n    One(GetAOne),' in made
    assert "pub kind" not in made


def test_variants_without_a_tag_stand_in_the_order_that_serde_tries_them() -> None:
    branches = [{"type": "object", "properties": {"x": {}}, "required": ["x"]}, {"type": "string"}, {"enum": ["auto"]}]
    made = _declared({"anyOf": [*branches, {"type": "array", "items": {"type": "string"}}]})
    assert made.index("Vec<String>") < made.index("Object(")
