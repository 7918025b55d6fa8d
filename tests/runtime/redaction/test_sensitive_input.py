"""No sensitive value survives."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any
from urllib.parse import quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.redaction.sensitive_input import REDACTED, Mask, mask_all_json, scrub_values
from tests.runtime.pipeline.arguments.contracts import fields, tool
from tests.runtime.redaction.masking import SECRET, TEXT, mask_by_schema


def test_a_tool_without_sensitive_fields_has_no_mask() -> None:
    assert Mask.of(tool(fields(a=TEXT))) is None
    assert Mask.of(tool(fields(password=TEXT))) is None  # a name is no mark
    assert Mask.of(tool(fields(a={"type": "string", "sensitive": False}))) is None


def test_the_runtime_schema_counts_too() -> None:
    mask = Mask.of(tool(fields(a=TEXT), fields(a=TEXT, token=SECRET)))
    assert mask is not None
    assert mask.mask_json(b'{"a":"x","token":"t0p"}') == b'{"a":"x","token":"[REDACTED]"}'


def test_json_inside_a_string_is_not_a_way_around() -> None:
    schema = fields(pay=fields(card=SECRET), note=TEXT)
    assert "4111" not in str(mask_by_schema(schema, {"pay": '{"card": "4111"}', "note": "fine"}))
    assert "4111" not in str(mask_by_schema(schema, '{"pay": {"card": "4111"}}'))
    assert "4111" not in str(mask_by_schema({"type": "object"}, {"any": '{"card": "4111"}'}, sensitive_fields=["card"]))
    assert mask_by_schema(schema, {"note": '{"a": 1}'}) == {"note": '{"a": 1}'}


def test_what_cannot_be_read_is_masked_whole() -> None:
    mask = Mask.of(tool(fields(card=SECRET, next={"$ref": "#"})))
    assert mask is not None
    for raw in (b'{"card": "4111"', b"\xff4111", b'{"card":' * 5000, b'{"next":' * 600 + b"1" + b"}" * 600):
        assert mask.mask_json(raw) == b'"[REDACTED]"'


@pytest.mark.parametrize("limit", [1000, 20_000])
def test_how_deep_is_looked_does_not_depend_on_the_interpreter(limit: int) -> None:
    mask = Mask.of(tool(fields(card=SECRET, next={"$ref": "#"}, note=TEXT)))
    assert mask is not None
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        for levels, is_whole in ((150, False), (199, False), (200, True), (600, True), (5000, True)):
            raw = b'{"next":' * levels + b'{"card":"4111","note":"x"}' + b"}" * levels
            found = mask.mask_json(raw)
            assert b"4111" not in found
            assert (found == b'"[REDACTED]"') is is_whole, levels
            value: Any = {"card": "4111", "note": "x"}
            for _ in range(levels):
                value = {"next": value}
            assert (mask.mask_value(value) == REDACTED) is (levels > 200), levels
            assert mask.list_values(value) >= {"4111"}
        inside = b'{"a":' * 300 + b'"4111"' + b"}" * 300
        assert b"4111" not in mask.mask_json(msgspec.json.encode({"next": inside.decode()}))
        assert mask_all_json(inside) == b'"[REDACTED]"'
    finally:
        sys.setrecursionlimit(before)


def test_masking_twice_is_masking_once() -> None:
    mask = Mask.of(tool(fields(card=SECRET, pay=fields(card=SECRET))))
    assert mask is not None
    once = mask.mask_json(b'{"card":"4111","pay":{"card":"1"}}')
    assert mask.mask_json(once) == once
    assert mask.mask_json(mask.mask_json(b"broken")) == mask.mask_json(b"broken")


def test_the_value_given_stays_as_it_is() -> None:
    mask = Mask.of(tool(fields(pay=fields(card=SECRET))))
    assert mask is not None
    value = {"pay": {"card": "4111"}}
    assert mask.mask_value(value) == {"pay": {"card": REDACTED}}
    assert value == {"pay": {"card": "4111"}}


WORDS = st.text(alphabet='bfghjkmn0123456789"\\ü/ %&', min_size=4, max_size=12).filter(str.strip)
SHAPES = st.recursive(
    st.just("secret") | st.just("plain"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
    max_leaves=6,
)


def shaped(shape: Any, secret: str) -> tuple[Any, Any]:
    """A schema and a value of the same shape, with the secret in its sensitive places."""
    if isinstance(shape, str):
        return (SECRET, secret) if shape == "secret" else (TEXT, "plain")
    if isinstance(shape, list):
        pairs = [shaped(member, secret) for member in shape]
        return {"type": "array", "prefixItems": [schema for schema, _ in pairs]}, [value for _, value in pairs]
    pairs_by_name = {name: shaped(member, secret) for name, member in shape.items()}
    return fields(**{n: s for n, (s, _) in pairs_by_name.items()}), {n: v for n, (_, v) in pairs_by_name.items()}


@given(SHAPES, WORDS)
def test_no_sensitive_value_survives_a_mask(shape: Any, secret: str) -> None:
    schema, value = shaped({"root": shape}, secret)
    mask = Mask.of(tool(schema))
    if mask is None:
        assert secret not in msgspec.json.encode(value).decode()
        return
    assert msgspec.json.encode(secret).decode()[1:-1] not in mask.mask_json(msgspec.json.encode(value)).decode()


@given(SHAPES, WORDS, st.lists(WORDS | st.just("and"), max_size=3))
def test_no_sensitive_value_survives_a_scrub(shape: Any, secret: str, around: list[str]) -> None:
    schema, value = shaped({"root": shape}, secret)
    mask = Mask.of(tool(schema))
    if mask is None or secret not in mask.list_values(value):
        return
    text = secret.join(["error:", *around, "."])
    result = {"message": text, secret: [text, msgspec.json.encode({"echo": secret}).decode()]}
    scrubbed = scrub_values(result, mask.list_values(value))
    assert secret not in str(scrubbed["message"])
    assert secret not in scrubbed
    assert msgspec.json.encode(secret).decode()[1:-1] not in str(scrubbed[REDACTED][1])


def test_scrubbing_knows_every_spelling() -> None:
    """AT-245: what a system behind a tool says may hold a secret in its own spelling."""
    secret = 'tok/en "7"'
    encoded = base64.b64encode(f"ada:{secret}".encode()).decode()
    for said in (encoded, secret.encode().hex(), quote_plus(secret), json.dumps(json.dumps(secret)), repr(secret)):
        assert REDACTED in scrub_values(f"401: {said} is wrong", {secret})
        assert scrub_values({"said": [f"401: {said}", 1]}, {secret})["said"][1] == 1
    assert encoded[8:16] not in scrub_values(f"Basic {encoded}", {secret})
    value = {"a": ["nothing"]}
    assert scrub_values(value, {secret}) is value


def test_scrubbing_knows_other_spellings_and_leaves_short_values_inside_words() -> None:
    assert scrub_values("GET /x?key=a%20b%2Fc failed", {"a b/c"}) == f"GET /x?key={REDACTED} failed"
    assert scrub_values("cvv 123 of 4123", {"123"}) == f"cvv {REDACTED} of 4123"
    assert scrub_values({"code": 123, "n": 5}, {"123"}) == {"code": REDACTED, "n": 5}
    assert scrub_values("nothing", set()) == "nothing"


def test_sensitive_values_are_gathered_for_scrubbing() -> None:
    mask = Mask.of(tool(fields(card=fields(number=TEXT, cvv={"type": "integer"}) | {"sensitive": True}, note=TEXT)))
    assert mask is not None
    assert mask.list_values({"card": {"number": "4111", "cvv": 123}, "note": "hi"}) == {"4111", "123"}
