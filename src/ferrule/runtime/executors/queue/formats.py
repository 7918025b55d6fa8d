"""Formats of messages: writes a call as JSON or Avro, and reads its reply, plain or in an envelope.

The executor uses it to send and to resume; it knows no provider."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output
from ferrule.model.failure import ErrorClass, excerpt
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.queue.avro import AvroFormat, BadAvroValue, BadSchema, codec_of, derive_codec
from ferrule.runtime.executors.queue.channel import QueueSettings

JSON = "application/json"
AVRO = "avro/binary"
_ENVELOPE = frozenset({"correlation_id", "result", "result_base64", "error", "status"})
_REPORTABLE: dict[str, ErrorClass] = {
    "invalid_arguments": "invalid_arguments",
    "rate_limited": "rate_limited",
    "timeout": "timeout",
    "dependency_unavailable": "dependency_unavailable",
    "permission_denied": "permission_denied",
}
"""The classes a reply may claim; any other failure is `execution_failed`."""
_LONGEST_CODE = 100
_LONGEST_TEXT = 2_000


class MessageBody(NamedTuple):
    """The body of a message."""

    content: bytes
    content_type: str


class Formats:
    """Writer of one tool's messages and reader of its replies."""

    def __init__(self, tool: Tool, settings: QueueSettings) -> None:
        """Raises ExecutionFailed (`setup_required`) for an invalid schema, or when the Avro driver is missing."""
        self._tool_id = tool.tool_id
        output = msgspec.json.decode(tool.output_schema) if tool.output_schema else {}
        self._declared = frozenset(output.get("properties") or ())
        self._may_be_empty = not output.get("required")
        """True when no member of the output is required: then an empty reply is a valid output."""
        self._messages: AvroFormat | None = None
        self._replies: AvroFormat | None = None
        if settings.message_format == "avro":
            self._messages = self._avro(tool, tool.input_schema, settings.avro_schema, "", settings.avro_schema_id)
            if settings.response_queue_url:
                self._replies = self._avro(
                    tool, tool.output_schema, settings.avro_reply_schema, "_reply", settings.avro_schema_id
                )

    @property
    def is_avro(self) -> bool:
        """True when bodies are Avro."""
        return self._messages is not None

    def write(self, arguments: JsonObject) -> MessageBody:
        """Encodes the body of a message. Raises ExecutionFailed."""
        if self._messages is None:
            return MessageBody(msgspec.json.encode(arguments), JSON)
        try:
            return MessageBody(self._messages.write(arguments), AVRO)
        except BadAvroValue as error:
            raise ExecutionFailed("invalid_arguments", f"the message of {self._tool_id!r}: {error}") from None

    def read(self, reply: object) -> Output:
        """Reads the tool's output from a reply of `receiver.py`. Raises ExecutionFailed when the reply reports a failure
        or cannot be read."""
        reported = msgspec.convert(reply, StoredReply)
        value = reported.body
        if reported.base64:
            value = self._binary(reported.base64)
        if reported.is_error:
            raise self._reported_failure(value.get("error", value) if isinstance(value, dict) else value)
        value = self._open_envelope(value) if isinstance(value, dict) else value
        return Output(EMPTY, is_acknowledgement=self._may_be_empty) if value is None else Output(value)

    def _open_envelope(self, value: JsonObject) -> Any:
        """Opens an envelope and returns its result. Members that the output schema declares are the tool's, not the
        envelope's."""
        envelope_members = _ENVELOPE - self._declared
        # Only what has nothing but an envelope's members is an envelope.
        if value.keys() <= envelope_members:
            if "error" in value and value["error"] not in (None, False):
                raise self._reported_failure(value["error"])
            if "result" in value:
                return value["result"]
            if isinstance(value.get("result_base64"), str):
                return self._binary(value["result_base64"])
        # The correlation id is ours, unless the output schema has it.
        if "correlation_id" in envelope_members:
            return {name: member for name, member in value.items() if name != "correlation_id"}
        return value

    def _binary(self, text: str) -> Any:
        if self._replies is None:
            raise ExecutionFailed(
                "execution_failed",
                f"the reply for {self._tool_id!r} is no JSON, and its message_format is json",
                code="reply_unreadable",
            )
        try:
            return self._replies.read(base64.b64decode(text, validate=True))
        except (ValueError, RecursionError) as error:  # BadAvroValue, invalid base64, JSON nested too deeply
            raise ExecutionFailed(
                "execution_failed", f"the reply for {self._tool_id!r}: {error}", code="reply_unreadable"
            ) from None

    def _reported_failure(self, error: object) -> ExecutionFailed:
        """Builds the failure that a reply reports. Its text goes into the output only, since it comes from outside."""
        reported = error if isinstance(error, dict) else {"message": error}
        code = excerpt(str(reported.get("code") or ""), _LONGEST_CODE)
        kind = _REPORTABLE.get(str(reported.get("class") or ""), "execution_failed")
        after = reported.get("retry_after")
        text = reported.get("message")
        told = text if isinstance(text, str) else msgspec.json.encode(error).decode()
        return ExecutionFailed(
            kind,
            f"whoever works on the messages of {self._tool_id!r} answered with an error",
            code="reply_error",
            retry_after=float(after) if isinstance(after, int | float) and 0 <= after < 1e6 else None,
            native_error_ref=f"queue:{code or 'error'}",
            output=Output({"error": {"code": code, "message": excerpt(told, _LONGEST_TEXT)}}),
        )

    def _avro(
        self, tool: Tool, schema: msgspec.Raw | None, written: object, suffix: str, schema_id: int | None
    ) -> AvroFormat:
        try:
            if written is not None:
                return AvroFormat(codec_of(written), schema_id)
            plain = msgspec.json.decode(schema) if schema else {}
            return AvroFormat(derive_codec(plain, tool.name + suffix, tool.namespace or "ferrule"), schema_id)
        except BadSchema as error:
            raise ExecutionFailed(
                "setup_required", f"the Avro schema of {tool.tool_id!r} cannot be used: {error}"
            ) from None


class StoredReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply as stored with its call: JSON, or bytes in base64."""

    body: Any = None
    base64: str = ""
    is_error: bool = False
    native: dict[str, Any] = {}
    """Its native ids."""
