"""Reads the parts of an AML definition that executors share: its transport as a typed record, its credentials, and its
`error_codes` (AML-36). Every transport's executor reads its settings here; nothing here connects to anything."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.credentials import BadCredentials, Credentials, read_credentials
from ferrule.model.misfits import describe_complaint
from ferrule.model.tool import Tool

T = TypeVar("T", bound=msgspec.Struct)


class ErrorCode(msgspec.Struct, frozen=True):
    """The meaning of one failing status, and what the agent should do about it."""

    meaning: str = ""
    agent_action: str = ""

    def __str__(self) -> str:
        meaning = self.meaning.rstrip(". ")
        return f"{meaning}. {self.agent_action}".strip() if meaning else self.agent_action


class _Definition(msgspec.Struct):
    type: str = ""
    transport: dict[str, Any] = {}
    error_codes: dict[str, ErrorCode] = {}


def read_transport(tool: Tool, settings: type[T]) -> T:
    """Reads the tool's transport into an executor's settings record. Raises ExecutionFailed (`setup_required`)."""
    try:
        return msgspec.convert(_decode_definition(tool).transport, settings)
    except msgspec.ValidationError as error:
        told = describe_complaint(error)
        raise ExecutionFailed("setup_required", f"the transport of {tool.tool_id!r} cannot be used: {told}") from None


def read_tool_credentials(tool: Tool) -> Credentials:
    """Reads the tool's credentials: references, never values. Raises ExecutionFailed (`setup_required`)."""
    try:
        return read_credentials(_decode_definition(tool).transport.get("credentials"))
    except BadCredentials as error:
        raise ExecutionFailed(
            "setup_required", f"the credentials of {tool.tool_id!r} cannot be used: {error}"
        ) from None


def error_codes(tool: Tool) -> dict[str, ErrorCode]:
    """Returns the error codes that a definition explains, by status."""
    return _decode_definition(tool).error_codes


def tool_type(tool: Tool) -> str:
    """Returns the tool's type: `retrieval`, `action`, `function` or `human`."""
    return _decode_definition(tool).type


def _decode_definition(tool: Tool) -> _Definition:
    try:
        return msgspec.json.decode(tool.payload, type=_Definition)
    except msgspec.DecodeError as error:
        raise ExecutionFailed("setup_required", f"the definition of {tool.tool_id!r} cannot be used: {error}") from None
