"""JSON-RPC as it comes: bounded, typed, never ambiguous (section 2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.model.value import is_deeper
from ferrule.servers.mcp.wire.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    RpcError,
    error_text,
    features_of,
    read_message,
    result_text,
)


def refusal(body: bytes, depth: int = 128) -> int | None:
    """The code that a body is refused with; None for a message."""
    try:
        _ = read_message(body, depth).kind
    except RpcError as error:
        assert json.loads(error_text(None, error)) == {
            "jsonrpc": "2.0",
            "error": {"code": error.code, "message": error.message},
        }
        return error.code
    return None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"nonsense", PARSE_ERROR),
        (b"\xef\xbb\xbf{}", PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\xff"}}', PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\\ud800"}}', PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":' + b"[" * 200 + b"]" * 200 + b"}", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"a"}]', INVALID_REQUEST),
        (b"1", INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"a"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"methodX":"a"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","\\u006dethod":"b"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{"x":1}}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"a"}', PARSE_ERROR),
    ],
    ids=range(20),
)
def test_what_is_no_message_gets_its_code(body: bytes, code: int) -> None:
    """MCP-22, MCP-24, MCP-48, MCP-115, MCP-116: not JSON, no message, too deep, or said twice."""
    assert refusal(body) == code


@pytest.mark.parametrize("request_id", ["null", "1.5", "1.0", "true", "{}", "[]"])
def test_an_id_is_a_string_or_an_integer(request_id: str) -> None:
    """MCP-16."""
    assert refusal(b'{"jsonrpc":"2.0","id":%b,"method":"a"}' % request_id.encode()) == INVALID_REQUEST


@pytest.mark.parametrize("request_id", ["1", "0", "-7", '"1"', '""', '"\\u00e9\\n"', "123456789012345678901234567890"])
def test_an_id_comes_back_with_its_type(request_id: str) -> None:
    """MCP-16: `"1"` is not `1`; long ones are not rounded."""
    message = read_message(b'{"jsonrpc":"2.0","id":%b,"method":"a"}' % request_id.encode())
    assert message.kind == "request"
    for text in (result_text(message.id, b"{}"), error_text(message.id, RpcError(-32600, "no"))):
        said = json.loads(text)["id"]
        assert (said, type(said)) == (json.loads(request_id), type(json.loads(request_id)))


def test_names_below_the_envelope_may_repeat_its_words() -> None:
    """What stands inside of params is no second `id` or `method`."""
    inside = {"id": 1, "method": "x", "params": {"id": 2}, "text": 'a \\ and "id"'}
    message = read_message(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "m", "params": inside}).encode())
    assert (message.kind, message.id, message.method) == ("request", 5, "m")


def test_brackets_in_strings_do_not_count_as_depth() -> None:
    """MCP-48."""
    assert refusal(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"x": "[" * 5000}}).encode()) is None
    wide = {"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"x": [{"y": [1]}] * 2000}}
    assert refusal(json.dumps(wide).encode()) is None


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=20,
)


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + max((_depth(each) for each in (value.values() if isinstance(value, dict) else value)), default=0)
    return 0


@given(_json, st.integers(0, 8))
def test_depth_is_what_a_reader_finds(value: Any, depth: int) -> None:
    """MCP-48."""
    assert is_deeper(json.dumps(value).encode(), depth) == (_depth(value) > depth)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    """MCP-48: nothing that comes raises anything but the error that is answered."""
    assert refusal(body) in (None, PARSE_ERROR, INVALID_REQUEST)


@given(
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), _json, max_size=6)
    | st.lists(_json)
)
def test_any_json_is_a_message_or_refused(value: Any) -> None:
    """MCP-24."""
    assert refusal(json.dumps(value).encode("utf-8", "surrogatepass")) in (None, PARSE_ERROR, INVALID_REQUEST)


@pytest.mark.parametrize(
    ("capabilities", "features"),
    [
        ({}, []),
        ({"elicitation": {}}, ["elicitation"]),
        ({"elicitation": {"form": {}}}, ["elicitation"]),
        ({"elicitation": {"url": {}}}, ["elicitation.url"]),
        ({"elicitation": {"form": {}, "url": {}}}, ["elicitation", "elicitation.url"]),
        ({"sampling": {}}, ["sampling"]),
        ({"sampling": {"tools": {}}}, ["sampling", "sampling.tools"]),
        ({"roots": {"listChanged": True}}, ["roots"]),
        ({"extensions": {"a/b": {}, "c/d": 1}}, ["a/b"]),
        ({"sampling": None, "roots": True, "elicitation": []}, []),
    ],
    ids=range(10),
)
def test_capabilities_are_read_as_declared(capabilities: dict[str, Any], features: list[str]) -> None:
    """MCP-110, MCP-112: an empty elicitation object means forms only."""
    assert sorted(features_of(capabilities)) == features
