"""The contract of one cloud function: the settings in its definition (AML-47 to AML-50), payloads, and the cloud's protocol.

A payload is JSON, or raw: a single string or binary value (AML-50). Extension keys of ours begin with `x-`. The clouds'
files and the executor are above; this module sends nothing.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Output
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject


class LambdaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `transport` of a tool that is a cloud function."""

    provider: Literal["aws", "gcp", "azure"]
    function_id: str
    invocation_type: Literal["RequestResponse", "Event"]
    payload_format: Literal["json", "raw"] = "json"
    url: str = msgspec.field(name="x-url", default="")
    """The function's address at Google Cloud or Azure, which saves looking it up."""
    audience: str = msgspec.field(name="x-audience", default="")
    """The audience of a token; the function's own address by default."""

    @property
    def is_event(self) -> bool:
        """True when the call does not wait for the result."""
        return self.invocation_type == "Event"


JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"


class FunctionPayload(NamedTuple):
    """The body and type of an invocation."""

    content: bytes
    media_type: str


class _Single(NamedTuple):
    """The only member of a schema, which is a raw payload."""

    name: str
    is_binary: bool
    is_attachment: bool


class Payloads:
    """Writer of one tool's payloads and reader of its results."""

    def __init__(self, tool: Tool, *, is_raw: bool) -> None:
        """Raises ExecutionFailed (`setup_required`) when the tool's input does not allow raw payloads."""
        self._tool_id = tool.tool_id
        self._is_raw = is_raw
        self._input = _single(tool.input_schema) if is_raw else None
        self._output = _single(tool.output_schema) if is_raw else None
        self._may_be_empty = not _read(tool.output_schema).get("required")
        """True when no member of the output is required: then an empty result is a valid output."""
        if is_raw and self._input is None:
            raise ExecutionFailed(
                "setup_required",
                f"payload_format raw of {tool.tool_id!r} needs an input with one member, a text or a base64 text",
                code="raw_input",
            )

    def write(self, arguments: JsonObject) -> FunctionPayload:
        """Encodes the payload of a call. Raises ExecutionFailed (`invalid_arguments`)."""
        if self._input is None:
            return FunctionPayload(msgspec.json.encode(arguments), JSON)
        others = arguments.keys() - {self._input.name}
        if others:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{self._tool_id!r} sends {self._input.name!r} as it is and has no place for {min(others)!r}",
            )
        value, media_type = arguments.get(self._input.name, ""), BINARY
        if self._input.is_attachment:
            value, media_type = self._read_attachment(value)
        if not isinstance(value, str):
            raise ExecutionFailed("invalid_arguments", f"{self._input.name!r} of {self._tool_id!r} has to be a text")
        if not self._input.is_binary:
            return FunctionPayload(value.encode("utf-8", "replace"), TEXT)
        try:
            return FunctionPayload(base64.b64decode(value, validate=True), media_type)
        except (binascii.Error, ValueError):
            raise ExecutionFailed(
                "invalid_arguments", f"{self._input.name!r} of {self._tool_id!r} is no base64"
            ) from None

    def read(self, body: bytes, media_type: str, ref: JsonObject) -> Output:
        """Reads a function's result. Raises ExecutionFailed when it should be JSON and is not."""
        if not body:
            return self._nothing(ref)
        if self._is_raw:
            return self._raw(body, media_type, ref)
        try:
            value = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ExecutionFailed(
                "execution_failed",
                f"the function of {self._tool_id!r} gave no JSON, and payload_format is json",
                code="result_unreadable",
            ) from None
        return self._nothing(ref) if value is None else Output(value, native_refs=(ref,))

    def _nothing(self, ref: JsonObject) -> Output:
        return Output(EMPTY, native_refs=(ref,), is_acknowledgement=self._may_be_empty)

    def _read_attachment(self, value: object) -> tuple[Any, str]:
        """Returns the content and media type of an attachment (AML-33). Raises ExecutionFailed for a reference."""
        found = value if isinstance(value, dict) else {}
        if found.get("transfer", "inline") != "inline":
            raise ExecutionFailed(
                "invalid_arguments", f"{self._tool_id!r} takes the attachment itself, not a reference"
            )
        media_type = found.get("mime_type")
        is_plain = isinstance(media_type, str) and media_type.isascii() and media_type.isprintable()
        return found.get("content"), str(media_type) if is_plain else BINARY

    def _raw(self, body: bytes, media_type: str, ref: JsonObject) -> Output:
        """Reads a raw result into the only member of the output; as JSON where the output has another shape."""
        if self._output is not None and self._output.is_binary:
            return Output({self._output.name: base64.b64encode(body).decode()}, native_refs=(ref,))
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return Output(stream=(body,), media_type=media_type or BINARY, native_refs=(ref,))
        if self._output is not None:
            return Output({self._output.name: text}, native_refs=(ref,))
        try:
            return Output(msgspec.json.decode(text), native_refs=(ref,))
        except (msgspec.DecodeError, RecursionError):
            return Output(text, native_refs=(ref,))


def _single(schema: msgspec.Raw | None) -> _Single | None:
    properties = _read(schema).get("properties")
    if not isinstance(properties, dict) or len(properties) != 1:
        return None
    ((name, written),) = properties.items()
    if not isinstance(written, dict):
        return None
    inner = written.get("properties")
    if written.get("type") == "object" and isinstance(inner, dict) and {"transfer", "content"} <= inner.keys():
        return _Single(name, True, True)
    if written.get("type") not in ("string", ["string", "null"]):
        return None
    return _Single(name, written.get("contentEncoding") == "base64", False)


def _read(schema: msgspec.Raw | None) -> JsonObject:
    found = msgspec.json.decode(schema) if schema else {}
    return found if isinstance(found, dict) else {}


class FunctionAnswer(NamedTuple):
    """A function's result; empty for an event."""

    body: bytes
    media_type: str
    ref: dict[str, Any]
    """The native ids of the invocation."""


class CloudFunction(Protocol):
    """One function of a cloud."""

    host: str
    """The function's name in messages and for the circuit breaker."""

    async def invoke(self, payload: FunctionPayload, context: Context) -> FunctionAnswer:
        """Invokes it; waits for the result unless it is an event. Raises ExecutionFailed."""

    async def probe(self, context: Context) -> str:
        """Checks it without running it; returns a sentence about it. Raises ExecutionFailed."""
