"""What executors read of a definition: its transport as a record, its credentials, and what failing statuses mean."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.credentials import SecretRef
from ferrule.model.tool import Tool
from ferrule.runtime.executors.definition import (
    ErrorCode,
    error_codes,
    read_tool_credentials,
    read_transport,
    tool_type,
)


class Line(msgspec.Struct):
    """The settings of an executor."""

    number: int
    speed: str = "slow"


def tool(payload: bytes | None = None, **written: Any) -> Tool:
    return Tool(
        tool_id="shop.ring", name="ring", namespace="shop", description="", lifecycle="available", tool_kind="function",
        dialect="aml", payload=msgspec.Raw(json.dumps(written).encode() if payload is None else payload),
    )  # fmt: skip


def test_a_transport_is_read_as_the_executors_own_record() -> None:
    written = tool(type="action", transport={"type": "line", "number": 7, "unknown": True})
    assert read_transport(written, Line) == Line(7)
    assert tool_type(written) == "action"


@pytest.mark.parametrize("transport", [{}, {"number": "seven"}, {"number": 7, "speed": None}])
def test_a_transport_that_cannot_be_used_is_a_matter_of_set_up(transport: dict[str, Any]) -> None:
    with pytest.raises(ExecutionFailed, match=r"the transport of 'shop\.ring' cannot be used") as failed:
        read_transport(tool(transport=transport), Line)
    assert failed.value.error_class == "setup_required"


@pytest.mark.parametrize("payload", [b"{", b"[]", b'{"transport": 7}', b'{"error_codes": {"404": "gone"}}'])
def test_a_definition_that_is_none_is_a_matter_of_set_up(payload: bytes) -> None:
    for read in (error_codes, tool_type, read_tool_credentials):
        with pytest.raises(ExecutionFailed, match=r"the definition of 'shop\.ring' cannot be used") as failed:
            read(tool(payload))
        assert failed.value.error_class == "setup_required"


def test_credentials_are_references() -> None:
    written = {"scheme": "bearer-token", "source": "env", "name": "LINE_TOKEN"}
    found = read_tool_credentials(tool(transport={"credentials": written}))
    assert (found.scheme, found.ref) == ("bearer-token", SecretRef("env", name="LINE_TOKEN"))
    assert read_tool_credentials(tool(transport={})).scheme == "none"


def test_credentials_that_cannot_be_used_are_a_matter_of_set_up() -> None:
    with pytest.raises(ExecutionFailed, match=r"the credentials of 'shop\.ring' cannot be used") as failed:
        read_tool_credentials(tool(transport={"credentials": {"scheme": "handshake"}}))
    assert failed.value.error_class == "setup_required"


@pytest.mark.parametrize(
    ("meaning", "action", "said"),
    [
        ("It is gone.", "Ask for another.", "It is gone. Ask for another."),
        ("It is gone", "", "It is gone."),
        ("", "Ask for another.", "Ask for another."),
        ("", "", ""),
    ],
)
def test_a_status_says_what_it_means_and_what_to_do(meaning: str, action: str, said: str) -> None:
    """AML-36"""
    codes = error_codes(tool(error_codes={"404": {"meaning": meaning, "agent_action": action}}))
    assert codes == {"404": ErrorCode(meaning, action)}
    assert str(codes["404"]) == said
