"""Notes tell where Python says or checks less than the schema does."""

from __future__ import annotations

from tests.definitions.stubs.languages.python.workbench import (
    FLAVOURS,
    Given,
    written,
)


def test_notes_tell_where_python_says_less() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"const": 2.5}, "b": {"prefixItems": [{}], "items": {"type": "string"}}},
        "additionalProperties": {"type": "integer"},
    }
    told = {
        flavour: " ".join(note.note.message for note in written([Given("t", schema)], flavour).notes)
        for flavour in FLAVOURS
    }
    assert all("Literal cannot be a number" in text for text in told.values())
    assert "of several lengths is a list" in told["pydantic"]
    assert "of several lengths is a list" in told["msgspec"]
    assert "TypedDict cannot tell the type of other members" in told["typeddict"]


def test_notes_tell_what_is_not_checked_and_what_msgspec_does_not_name() -> None:
    greek = {"type": "string", "pattern": r"^\p{Script=Greek}+$"}
    schema = {
        "type": "object",
        "properties": {"a": greek, "b/c": {"items": greek}, 'd"e': {"pattern": "^a"}},
        "patternProperties": {"(?<=a+)b": {}},
        "additionalProperties": False,
    }
    told = {
        flavour: [note.note for note in written([Given("t", schema)], flavour).notes]
        for flavour in ("msgspec", "dataclass")
    }
    places = [note.pointer for note in told["dataclass"] if "cannot check the pattern" in note.message]
    assert places == ["#", "#/properties/a", "#/properties/b~1c/items"]
    assert [note.message for note in told["msgspec"] if "msgspec" in note.message] == [
        "TInput: msgspec by itself cannot name the member 'd\"e'; decode_… and encode_… of the stubs do"
    ]
