"""Avro out of JSON Schemas, and back. What is written is read with the library, and hostile bytes are only unreadable."""

from __future__ import annotations

import base64
import io
from typing import Any

import fastavro
import pytest
from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from ferrule.runtime.executors.queue.avro import AvroFormat, BadAvroValue, BadSchema, codec_of, derive_codec

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["id", "lines", "paid", "state"],
    "properties": {
        "id": {"type": "integer"},
        "customer-name": {"type": "string"},
        "state": {"type": "string", "enum": ["open", "sent"]},
        "rank": {"type": "string", "enum": ["1st", "2nd"]},
        "price": {"type": "number"},
        "paid": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
        "seal": {"type": "string", "contentEncoding": "base64"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]},
        },
        "tags": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "nothings": {"type": "array", "items": {"type": "null"}},
    },
}
VALUE: dict[str, Any] = {
    "id": 2**62,
    "customer-name": "Ünal ☃",
    "state": "sent",
    "rank": "2nd",
    "price": 3.5,
    "paid": True,
    "seal": base64.b64encode(b"\0\xff").decode(),
    "lines": [{"sku": "a"}, {"sku": ""}],
    "tags": {"x": 1},
    "any": [1, {"a": None}],
    "either": 7,
    "nothings": [None, None],
}


def test_a_value_comes_back_as_it_was() -> None:
    form = AvroFormat(derive_codec(ORDER, "order", "shop.orders"))
    assert form.read(form.write(VALUE)) == VALUE
    small = {"id": -1, "state": "open", "paid": False, "lines": []}
    assert form.read(form.write(small)) == small
    assert form.read(form.write({**small, "note": None})) == small  # Avro knows one kind of nothing


def test_what_is_written_is_plain_avro() -> None:
    form = AvroFormat(derive_codec(ORDER, "order", "shop.orders"))
    found: Any = fastavro.schemaless_reader(io.BytesIO(form.write(VALUE)), fastavro.parse_schema(form.schema), None)
    assert found["customer_name"] == "Ünal ☃"
    assert found["seal"] == b"\0\xff"
    assert found["any"] == '[1,{"a":null}]'
    fields = {field["name"]: field["type"] for field in form.schema["fields"]}
    assert fields["id"] == "long"
    assert fields["price"] == ["null", "double"]
    assert fields["state"] == {"type": "enum", "name": "order_state", "symbols": ["open", "sent"]}
    assert fields["rank"] == ["null", "string"]  # words that Avro cannot name


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 2**63},
        {"id": "1"},
        {"id": True},
        {"paid": 1},
        {"state": "lost"},
        {"seal": "%%"},
        {"lines": [{}]},
        {"more": 1},
        {"lines": {}},
    ],
)
def test_what_has_no_place_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadAvroValue):
        AvroFormat(derive_codec(ORDER, "order")).write({"id": 1, "state": "open", "paid": True, "lines": [], **wrong})


def test_names_that_fall_together_are_refused() -> None:
    with pytest.raises(BadSchema, match="one name"):
        derive_codec({"type": "object", "properties": {"a-b": {"type": "string"}, "a_b": {"type": "string"}}}, "x")


def test_a_schema_of_ones_own() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "data", "type": "bytes"}, {"name": "n", "type": ["null", "int"]}],
    }
    form = AvroFormat(codec_of(schema), schema_id=7)
    value = {"data": base64.b64encode(b"abc").decode(), "n": 3}
    assert form.write(value)[:5] == b"\0\0\0\0\7"  # a registry's header
    assert form.read(form.write(value)) == value
    with pytest.raises(BadAvroValue):
        form.write({"data": 1, "n": 3})


@pytest.mark.parametrize("schema", ["{", {"type": "nonsense"}, {"type": "record"}, 7, "unknown"])
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(BadSchema):
        AvroFormat(codec_of(schema))


@settings(max_examples=300, deadline=None)
@cases(st.binary(max_size=200))
def test_hostile_bytes_are_read_or_refused(body: bytes) -> None:
    form = AvroFormat(derive_codec(ORDER, "order"))
    try:
        found = form.read(body)
    except BadAvroValue:
        return
    assert isinstance(found, dict)


@settings(max_examples=100, deadline=None)
@cases(
    st.fixed_dictionaries(
        {
            "id": st.integers(-(2**63), 2**63 - 1),
            "state": st.sampled_from(["open", "sent"]),
            "paid": st.booleans(),
            "lines": st.lists(st.fixed_dictionaries({"sku": st.text(st.characters(exclude_categories=["Cs"]))})),
        },
        optional={
            "price": st.floats(allow_nan=False),
            "tags": st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(-9, 9)),
        },
    )
)
def test_any_value_of_the_schema_comes_back(value: dict[str, Any]) -> None:
    form = AvroFormat(derive_codec(ORDER, "order"))
    assert form.read(form.write(value)) == value
