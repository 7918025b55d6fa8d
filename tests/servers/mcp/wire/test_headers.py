"""Headers that repeat the body (MCP-55 to MCP-64, MCP-154)."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ferrule
from ferrule.errors import BindingError
from ferrule.schema.mirrored_headers import find_mirrored
from ferrule.schema.validation.soundness import schema_defects
from ferrule.servers.mcp.wire.headers import check_headers, check_parameter_headers, find_repeated_header, read_header
from ferrule.servers.mcp.wire.messages import HEADER_MISMATCH, RpcError

GOOD = {b"mcp-protocol-version": b"2026-07-28", b"mcp-method": b"tools/call", b"mcp-name": b"add"}


def refused(call: Any) -> bool:
    """True when it is refused, and as it should be."""
    try:
        call()
    except RpcError as error:
        assert (error.code, error.status) == (HEADER_MISMATCH, 400)
        return True
    return False


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"plain", "plain"),
        (b"  padded\t", "padded"),
        (b"=?base64?SGVsbG8=?=", "Hello"),
        (b"=?base64?w6k=?=", "é"),
        (b"=?base64??=", ""),
        (b"SGVsbG8=", "SGVsbG8="),
        (b"=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        (b"SGVsbG8=?=", "SGVsbG8=?="),
        (b"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        (b"=?base64?=", "=?base64?="),
        (b"", ""),
    ],
    ids=range(11),
)
def test_a_header_says(value: bytes, text: str) -> None:
    """MCP-59, MCP-60: white space is no part of it, and base64 is what is marked as such, exactly."""
    assert read_header(b"mcp-name", value) == text


@pytest.mark.parametrize(
    "value",
    [
        b"=?base64?SGVsbG8?=",
        b"=?base64?SGVs!!!bG8=?=",
        b"=?base64?SGVsbG9=?=",
        b"=?base64?/w==?=",
        b"=?base64?SGVs bG8=?=",
        b"caf\xe9",
        b"a\x00b",
        b"a\x7f",
        b"a\rb",
    ],
    ids=range(9),
)
def test_a_header_that_cannot_be_read_is_refused(value: bytes) -> None:
    """MCP-60, MCP-62: bad padding, alphabet, padding bits, UTF-8; characters that no header has."""
    assert refused(lambda: read_header(b"mcp-name", value))


def encode_as_client(text: str) -> bytes:
    """Writes a text into a header as clients do: as it is, or as base64 where it has to be."""
    raw = text.encode()
    is_plain = all(0x20 <= byte <= 0x7E or byte == 0x09 for byte in raw) and text == text.strip(" \t")
    is_marked = raw.startswith(b"=?base64?") and raw.endswith(b"?=")
    return raw if is_plain and not is_marked else b"=?base64?" + b64encode(raw) + b"?="


@given(st.text())
def test_every_text_travels_as_a_header(text: str) -> None:
    """MCP-60."""
    if any("\ud800" <= each <= "\udfff" for each in text):
        return
    assert read_header(b"mcp-name", encode_as_client(text)) == text


@given(st.binary())
def test_any_bytes_are_read_or_refused(value: bytes) -> None:
    """MCP-60, MCP-62: and what is read as base64 has one spelling only."""
    try:
        text = read_header(b"mcp-name", value)
    except RpcError as error:
        assert error.code == HEADER_MISMATCH
        return
    if (
        value.strip(b" \t").startswith(b"=?base64?")
        and value.strip(b" \t").endswith(b"?=")
        and text.encode() != value.strip(b" \t")
    ):
        assert b"=?base64?" + b64encode(text.encode()) + b"?=" == value.strip(b" \t")


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        ({}, False),
        ({b"mcp-protocol-version": None}, True),
        ({b"mcp-protocol-version": b"2025-11-25"}, True),
        ({b"mcp-method": None}, True),
        ({b"mcp-method": b"tools/list"}, True),
        ({b"mcp-method": b"TOOLS/CALL"}, True),
        ({b"mcp-method": b" tools/call "}, False),
        ({b"mcp-name": None}, True),
        ({b"mcp-name": b"Add"}, True),
        ({b"mcp-name": b" add\t"}, False),
        ({b"mcp-name": b"=?base64?YWRk?="}, False),
        ({b"mcp-method": b"=?base64?dG9vbHMvY2FsbA==?="}, True),
        ({b"mcp-protocol-version": b"=?base64?MjAyNi0wNy0yOA==?="}, True),
    ],
    ids=range(13),
)
def test_headers_agree_with_the_body(changes: dict[bytes, bytes | None], is_refused: bool) -> None:
    """MCP-56, MCP-57, MCP-58, MCP-60: base64 is for names and parameters."""
    headers = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    assert refused(lambda: check_headers(headers, "2026-07-28", "tools/call", "add")) is is_refused


def test_a_method_without_a_name_needs_no_header_for_it() -> None:
    """MCP-58: nor is one needed where the body does not say it."""
    headers = {b"mcp-protocol-version": b"2026-07-28", b"mcp-method": b"tools/list"}
    check_headers(headers, "2026-07-28", "tools/list", None)


@pytest.mark.parametrize("name", ["mcp-name", "mcp-method", "mcp-protocol-version", "mcp-param-region"])
def test_a_routing_header_is_sent_once(name: str) -> None:
    """MCP-61."""
    twice = [(name.encode(), b"a"), (b"accept", b"*/*"), (name.encode(), b"a")]
    assert find_repeated_header(twice) == name.encode()
    assert find_repeated_header([(b"accept", b"a"), (b"accept", b"b"), (name.encode(), b"a")]) is None


SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"type": "object", "properties": {"shard": {"type": "integer", "x-mcp-header": "Shard"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
    },
}


@pytest.mark.parametrize(
    ("headers", "arguments", "is_refused"),
    [
        ({}, {}, False),
        ({b"mcp-param-region": b"eu"}, {"region": "eu"}, False),
        ({}, {"region": "eu"}, True),
        ({b"mcp-param-region": b"us"}, {"region": "eu"}, True),
        ({}, {"region": None}, False),
        ({b"mcp-param-region": b"eu"}, {}, True),
        ({b"mcp-param-region": b"eu"}, {"region": None}, True),
        ({b"mcp-param-region": b"=?base64?w6k=?="}, {"region": "é"}, False),
        ({b"mcp-param-region": b"=?base64?w6k?="}, {"region": "é"}, True),
        ({b"mcp-param-shard": b"42"}, {"where": {"shard": 42}}, False),
        ({b"mcp-param-shard": b"42.0"}, {"where": {"shard": 42}}, False),
        ({b"mcp-param-shard": b"42"}, {"where": {"shard": 42.0}}, False),
        ({b"mcp-param-shard": b"43"}, {"where": {"shard": 42}}, True),
        ({b"mcp-param-shard": b"4_2"}, {"where": {"shard": 42}}, True),
        ({b"mcp-param-shard": b"nan"}, {"where": {"shard": 42}}, True),
        ({b"mcp-param-shard": b"9007199254740993"}, {"where": {"shard": 9007199254740993}}, True),
        ({b"mcp-param-dry-run": b"true"}, {"dry": True}, False),
        ({b"mcp-param-dry-run": b"True"}, {"dry": True}, True),
        ({b"mcp-param-dry-run": b"1"}, {"dry": True}, True),
        ({b"mcp-param-other": b"x"}, {}, False),
        ({b"mcp-param-region": b"eu"}, {"region": ["eu"]}, True),
    ],
    ids=range(21),
)
def test_parameters_agree_with_their_headers(
    headers: dict[bytes, bytes], arguments: dict[str, Any], is_refused: bool
) -> None:
    """MCP-63, MCP-64: present means repeated, absent or null means not; integers are numbers; unknown ones are ignored."""
    assert refused(lambda: check_parameter_headers(headers, find_mirrored(SCHEMA), arguments)) is is_refused


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": "string", "x-mcp-header": "with space"}},
        {"a": {"type": "string", "x-mcp-header": 5}},
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"x-mcp-header": "A"}},
        {"a": {"type": "object", "x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": "Same"}, "b": {"type": "string", "x-mcp-header": "sAME"}},
        {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}},
        {"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}},
        {"a": {"$ref": "#/$defs/a"}, "b": {"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}},
    ],
    ids=range(10),
)
def test_annotations_that_break_the_rules_are_found(properties: dict[str, Any]) -> None:
    """MCP-154."""
    with pytest.raises(ValueError, match="x-mcp-header"):
        find_mirrored({"type": "object", "properties": properties})


def test_a_member_that_is_called_like_the_annotation_is_none() -> None:
    """MCP-154: a property may have any name, and defaults any content."""
    schema = {"properties": {"x-mcp-header": {"type": "string"}, "a": {"default": {"x-mcp-header": 1}}}}
    assert find_mirrored(schema) == ()


def test_a_function_whose_header_no_client_takes_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    """MCP-154."""

    @ferrule.tool(read_only=True)
    def broken(rate: Annotated[float, msgspec.Meta(extra_json_schema={"x-mcp-header": "Rate"})]) -> str:
        """Take a number."""
        return str(rate)

    async def load() -> None:
        async with ferrule.open(tmp_path, tools=[broken]):
            pass

    with pytest.raises(BindingError, match="x-mcp-header of 'rate'"):
        asyncio.run(load())


def test_a_definition_whose_header_no_client_takes_has_a_defect() -> None:
    """MCP-154: every dialect's rules ask here whether a schema is sound."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "no token"}}}
    (defect,) = schema_defects(schema)
    assert "x-mcp-header of 'a'" in defect.message
    assert schema_defects(SCHEMA) == []
