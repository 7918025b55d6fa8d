"""`requestState`: made here, for one caller and one request, unchanged (MCP-223, MCP-224, MCP-226)."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.servers.mcp.methods.request_state import RequestState, StateSeal, digest_request

SEAL = StateSeal(b"s" * 32)
STATE = RequestState(
    purpose="input", audience="desk", tenant="default", principal="ada", channel="token:1", method="tools/call",
    salient=b"x" * 32, invocation_id="inv_1", round=4, expires_at=99,
)  # fmt: skip


def test_a_state_comes_back_as_it_was() -> None:
    assert SEAL.open(SEAL.seal(STATE)) == STATE


def test_no_two_states_are_the_same() -> None:
    """MCP-226."""
    assert len({SEAL.seal(STATE) for _ in range(50)}) == 50


def test_another_key_opens_nothing() -> None:
    """MCP-223: not even one that follows from the same bytes otherwise."""
    assert StateSeal(b"t" * 32).open(SEAL.seal(STATE)) is None


def test_every_changed_bit_is_noticed() -> None:
    """MCP-223."""
    whole = urlsafe_b64decode(SEAL.seal(STATE))
    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        assert SEAL.open(urlsafe_b64encode(changed).decode()) is None


@pytest.mark.parametrize(
    "change", [lambda text: text + "-TAMPERED", lambda text: text[:-4], lambda text: text + "=", str.lower]
)
def test_another_spelling_is_another_state(change: Any) -> None:
    """MCP-223."""
    assert SEAL.open(change(SEAL.seal(STATE))) is None


@given(st.text() | st.binary(max_size=200).map(lambda data: urlsafe_b64encode(data).decode()))
def test_nothing_else_is_one(text: str) -> None:
    """MCP-223: whatever comes, it is no state, and nothing is raised."""
    assert SEAL.open(text) is None


def test_a_state_says_nothing_to_who_carries_it() -> None:
    whole = urlsafe_b64decode(SEAL.seal(STATE))
    assert b"ada" not in whole
    assert b"inv_1" not in whole


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (b'{"a":1,"b":[2]}', b'{ "b": [2], "a": 1 }', True),
        (b'{"a":1.0}', b'{"a":1}', True),
        (b'{"a":"\\u00e9"}', '{"a":"é"}'.encode(), True),
        (b'{"a":1}', b'{"a":2}', False),
        (b'{"a":1}', b'{"a":"1"}', False),
        (b'{"a":true}', b'{"a":1}', False),
        (b'{"a":null}', b"{}", False),
        (b"nonsense", b"nonsense", True),
        (b"nonsense", b"{}", False),
    ],
    ids=range(9),
)
def test_arguments_are_the_same_however_they_are_written(one: bytes, other: bytes, is_same: bool) -> None:
    """MCP-224."""
    assert (digest_request("tool", one) == digest_request("tool", other)) is is_same
    assert digest_request("tool", one) != digest_request("tool2", one)
