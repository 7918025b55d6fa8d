"""One cloud function: the settings of its definition (AML-47 to AML-50), its payload, and what the executor wants of a cloud.

A payload is JSON, or one text or one piece of binary as it is (AML-50). Keys of our own begin with `x-`. Stands below
the clouds' files and the executor; sends nothing.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Output
from ferrule.model.tool import Tool


class LambdaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `transport` of a tool that is a cloud function."""

    provider: Literal["aws", "gcp", "azure"]
    function_id: str
    invocation_type: Literal["RequestResponse", "Event"]
    payload_format: Literal["json", "raw"] = "json"
    url: str = msgspec.field(name="x-url", default="")
    """Of Google Cloud and Azure: where the function listens, so that nobody has to be asked."""
    audience: str = msgspec.field(name="x-audience", default="")
    """Whom a token is for: the function's own address when not said."""

    @property
    def is_event(self) -> bool:
        """True when nobody waits for the result."""
        return self.invocation_type == "Event"


JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"


class Payload(NamedTuple):
    """What is sent."""

    content: bytes
    media_type: str


class _Single(NamedTuple):
    """The one member of a schema that raw payloads are made of."""

    name: str
    is_binary: bool
    is_attachment: bool


class Payloads:
    """The payloads of one tool."""

    def __init__(self, tool: Tool, *, is_raw: bool) -> None:
        """Raises ExecutionFailed (`setup_required`) when raw payloads cannot be made of the tool's input."""
        self._tool_id = tool.tool_id
        self._is_raw = is_raw
        self._input = _single(tool.input_schema) if is_raw else None
        self._output = _single(tool.output_schema) if is_raw else None
        self._may_be_empty = not _read(tool.output_schema).get("required")
        """True when no member of the output has to be there: then nothing is an output, too."""
        if is_raw and self._input is None:
            raise ExecutionFailed(
                "setup_required",
                f"payload_format raw of {tool.tool_id!r} needs an input with one member, a text or a base64 text",
                code="raw_input",
            )

    def write(self, arguments: dict[str, Any]) -> Payload:
        """What a function is sent. Raises ExecutionFailed (`invalid_arguments`)."""
        if self._input is None:
            return Payload(msgspec.json.encode(arguments), JSON)
        others = arguments.keys() - {self._input.name}
        if others:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{self._tool_id!r} sends {self._input.name!r} as it is and has no place for {min(others)!r}",
            )
        value, media_type = arguments.get(self._input.name, ""), BINARY
        if self._input.is_attachment:
            value, media_type = self._attached(value)
        if not isinstance(value, str):
            raise ExecutionFailed("invalid_arguments", f"{self._input.name!r} of {self._tool_id!r} has to be a text")
        if not self._input.is_binary:
            return Payload(value.encode("utf-8", "replace"), TEXT)
        try:
            return Payload(base64.b64decode(value, validate=True), media_type)
        except (binascii.Error, ValueError):
            raise ExecutionFailed(
                "invalid_arguments", f"{self._input.name!r} of {self._tool_id!r} is no base64"
            ) from None

    def read(self, body: bytes, media_type: str, ref: dict[str, Any]) -> Output:
        """What a function gave. Raises ExecutionFailed for what is no JSON where JSON is wanted."""
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

    def _nothing(self, ref: dict[str, Any]) -> Output:
        return Output(EMPTY, native_refs=(ref,), is_acknowledgement=self._may_be_empty)

    def _attached(self, value: Any) -> tuple[Any, str]:
        """The content of an attachment (AML-33), and what it is."""
        found = value if isinstance(value, dict) else {}
        if found.get("transfer", "inline") != "inline":
            raise ExecutionFailed(
                "invalid_arguments", f"{self._tool_id!r} takes the attachment itself, not a reference"
            )
        media_type = found.get("mime_type")
        is_plain = isinstance(media_type, str) and media_type.isascii() and media_type.isprintable()
        return found.get("content"), str(media_type) if is_plain else BINARY

    def _raw(self, body: bytes, media_type: str, ref: dict[str, Any]) -> Output:
        """The text or the bytes, as the one member that the output has; JSON where the output is something else."""
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


def _read(schema: msgspec.Raw | None) -> dict[str, Any]:
    found = msgspec.json.decode(schema) if schema else {}
    return found if isinstance(found, dict) else {}


class Answer(NamedTuple):
    """What a function gave, or that it was only told to run."""

    body: bytes
    media_type: str
    ref: dict[str, Any]
    """Native ids of this invocation."""


class CloudFunction(Protocol):
    """One function."""

    host: str
    """For messages, and for leaving a system alone that fails."""

    async def invoke(self, payload: Payload, context: Context) -> Answer:
        """Run it, or have it run. Raises ExecutionFailed."""

    async def probe(self, context: Context) -> str:
        """What was found, without running it. Raises ExecutionFailed."""
