"""Documents made to hurt: they end soon, and without a fault."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ferrule.app.imports.openapi import OperationChoice, import_document
from ferrule.definitions.formats.openapi import FORMAT
from tests.definitions.openapi.importing import body, components, import_value


def document(schema: Any, **schemas: Any) -> dict[str, Any]:
    """One operation that sends and answers with a schema."""
    answer = {"responses": {"200": {"description": "It.", "content": {"application/json": {"schema": schema}}}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": "https://t.example.com"}],
        "paths": {"/x": {"post": {**body(schema), **answer}}},
        **components(**schemas),
    }


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


BOMBS: dict[str, dict[str, Any]] = {
    "doubling": {
        f"S{n}": {"type": "object", "properties": {"a": ref(f"S{n + 1}"), "b": ref(f"S{n + 1}")}} for n in range(60)
    },
    "all_of": {
        f"S{n}": {"allOf": [ref(f"S{n + 1}"), ref(f"S{n + 1}"), {"properties": {f"p{n}": {}}}]} for n in range(60)
    },
    "one_of": {f"S{n}": {"oneOf": [ref(f"S{n + 1}"), ref(f"S{n + 1}")]} for n in range(60)},
    "chain": {f"S{n}": ref(f"S{n + 1}") for n in range(5000)},
    "deep_chain": {f"S{n}": {"type": "array", "items": ref(f"S{n + 1}")} for n in range(5000)},
    "clique": {
        f"S{n}": {"type": "object", "properties": {f"p{m}": ref(f"S{m}") for m in range(40)}} for n in range(40)
    },
    "required_clique": {
        f"S{n}": {
            "type": "object",
            "properties": {f"p{m}": ref(f"S{m}") for m in range(40)},
            "required": [f"p{m}" for m in range(40)],
        }
        for n in range(40)
    },
    "heirs": {
        "S0": {"type": "object", "discriminator": {"propertyName": "t"}, "properties": {"t": {}}},
        **{f"H{n}": {"allOf": [ref("S0"), {"properties": {"x": ref("S0")}}]} for n in range(60)},
    },
    "merging": {
        f"S{n}": {
            "allOf": [
                {"properties": {"a": ref(f"S{n + 1}"), "b": ref(f"S{n + 2}")}},
                {"properties": {"a": ref(f"S{n + 2}")}},
            ]
        }
        for n in range(40)
    },
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_of_references_do_not_go_off(name: str) -> None:
    began = time.process_time()
    made = import_value(document(ref("S0"), **BOMBS[name]))
    assert made.score.tools == 1
    assert len(next(iter(made.files.values()))) < 1_000_000
    assert time.process_time() - began < 20


@pytest.mark.parametrize("name", ["doubling", "chain", "clique", "heirs"])
def test_bombs_do_not_go_off_in_the_format_either(name: str) -> None:
    reading = FORMAT.read(document(ref("S0"), **BOMBS[name]), "", {})
    assert len(reading.tools) == 1


def test_deep_nesting_is_refused_or_cut() -> None:
    nested: Any = {"type": "string"}
    for _ in range(40):
        nested = {"type": "object", "properties": {"a": nested}}
    assert import_value(document(nested)).score.tools == 1
    deep = b'{"openapi": "3.1.0", "paths": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"
    made = import_document(deep, "a.json")
    assert made.files == {} and made.findings


def test_many_operations_are_named_and_chosen_quickly() -> None:
    paths = {f"/p{n}": {"get": {"responses": {}, "tags": ["a"] if n == 7 else []}} for n in range(20_000)}
    text = json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "T", "version": "1"},
            "servers": [{"url": "https://t.example.com"}],
            "paths": paths,
        }
    )
    began = time.process_time()
    made = import_document(text.encode(), "a.json", OperationChoice(tags=("a",)))
    assert (made.score.operations, made.score.tools) == (20_000, 1)
    assert time.process_time() - began < 20


def test_numbers_and_texts_that_nobody_can_write_do_no_harm() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "maximum": 10**999, "default": 10**500},
            "b\u2028\x00": {"type": "string", "description": "x\x00y\u2028z", "enum": ["\x07", "a\nb"]},
            "<<": {"type": "string"},
        },
    }
    made = import_value(document(schema))
    assert made.score.tools == 1
