"""References: followed within the document and to files beside it, never further, and never in circles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.app.imports.openapi import import_document
from tests.definitions.openapi.importing import body, components, definitions, import_one, import_value


def with_ref(ref: str, **root: Any) -> dict[str, Any]:
    """A document whose one operation sends what a reference leads to."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": "https://t.example.com"}],
        "paths": {"/x": {"post": {**body({"type": "object", "properties": {"a": {"$ref": ref}}}), "responses": {}}}},
        **root,
    }


def test_pointers_have_escapes() -> None:
    made = import_one(
        body({"$ref": "#/components/schemas/a~1b~0c%20d"}), **components(**{"a/b~c d": {"type": "string"}})
    )
    assert made["interface"]["input"]["properties"]["body"]["type"] == "string"


@pytest.mark.parametrize(
    "ref",
    [
        "http://example.com/x.json#/A",
        "https://evil.example/x",
        "//host/x",
        "/etc/passwd",
        "../up.json",
        "file:///etc/passwd",
        "beside.json",
    ],
)
def test_what_leads_out_of_the_document_is_told_and_not_followed(ref: str) -> None:
    asked: list[str] = []

    def files(name: str) -> bytes | None:
        asked.append(name)
        return None

    made = import_value(with_ref(ref), files=files)
    assert made.score.tools == 1
    assert any(each.rule == "OAS-2" and each.hint for each in made.findings)
    assert asked == (["beside.json"] if ref == "beside.json" else [])


def test_files_beside_a_local_document_are_read() -> None:
    shelf = {
        "schemas/pet.yaml": b"Pet:\n  type: object\n  properties:\n    toy: {$ref: './toy.json'}\n    again: {$ref: '#/Pet'}\n"
        b"    main: {$ref: '../openapi.json#/components/schemas/Main'}\n",
        "schemas/toy.json": b'{"type": "string", "maxLength": 7}',
    }
    document = with_ref("./schemas/pet.yaml#/Pet", **components(Main={"type": "integer"}))
    [made] = definitions(document, files=shelf.get).values()
    pet = made["interface"]["input"]["properties"]["a"]["properties"]
    assert pet["toy"]["maxLength"] == 7 and pet["main"]["type"] == "integer"
    assert "toy" in pet["again"]["properties"]


def test_circles_end() -> None:
    loops = {
        "A": {"$ref": "#/components/schemas/B"},
        "B": {"$ref": "#/components/schemas/A"},
        "C": {"allOf": [{"$ref": "#/components/schemas/C"}]},
    }
    for name in loops:
        made = import_value(with_ref(f"#/components/schemas/{name}", **components(**loops)))
        assert made.score.tools == 1


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"openapi": "3.1.0"',
        b"\xff\xfe",
        b"a: b: c",
        b'{"openapi": "3.1.0", "paths": 3}',
        b"x" * 100,
    ],
)
def test_what_is_no_document_gives_findings_with_lines(text: bytes) -> None:
    for name in ("a.json", "a.yaml", "https://example.com/openapi"):
        made = import_document(text, name)
        assert made.files == {} and made.score.tools == 0
        assert made.findings == [] or all(each.line >= 1 for each in made.diagnostics)


def test_yaml_is_read_too() -> None:
    text = (
        b"openapi: 3.1.0\ninfo: {title: T, version: '1'}\nservers: [{url: https://t.example.com}]\npaths:\n"
        b"  /a/{id}:\n    get:\n      parameters:\n        - {name: id, in: path, required: true, schema: {type: integer}}\n"
        b"        - {name: q, in: nowhere}\n      responses:\n        200: {description: Fine.}\n"
    )
    made = import_document(text, "a.yaml")
    assert list(made.files) == ["get_a.tool.md"]
    assert [each.line for each in made.diagnostics if each.rule == "OAS-4"] == [9]


def test_json_is_told_from_yaml_by_its_first_character() -> None:
    made = import_document(
        json.dumps(with_ref("#/components/schemas/A", **components(A={}))).encode(), "https://example.com/api"
    )
    assert made.score.tools == 1
