"""How a call is written into a message, and how the reply is read: JSON or Avro, plain or in an envelope."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output
from ferrule.model.failure import ErrorClass, excerpt
from ferrule.model.tool import Tool
from ferrule.runtime.executors.queue.avro import AvroFormat, BadSchema, BadValue, derived, given
from ferrule.runtime.executors.queue.channel import QueueSettings

JSON = "application/json"
AVRO = "avro/binary"
_ENVELOPE = frozenset({"correlation_id", "result", "result_base64", "error", "status"})
_TOLD: dict[str, ErrorClass] = {
    "invalid_arguments": "invalid_arguments",
    "rate_limited": "rate_limited",
    "timeout": "timeout",
    "dependency_unavailable": "dependency_unavailable",
    "permission_denied": "permission_denied",
}
"""The classes a reply may claim; any other failure is `execution_failed`."""
_LONGEST_CODE = 100
_LONGEST_TEXT = 2_000


class Body(NamedTuple):
    """A call, written down."""

    content: bytes
    content_type: str


class Formats:
    """Writes the messages of one tool and reads its replies."""

    def __init__(self, tool: Tool, settings: QueueSettings) -> None:
        """Raises ExecutionFailed (`setup_required`) for a schema that cannot be used, or without the Avro driver."""
        self._tool_id = tool.tool_id
        output = msgspec.json.decode(tool.output_schema) if tool.output_schema else {}
        self._declared = frozenset(output.get("properties") or ())
        self._may_be_empty = not output.get("required")
        """True when no member of the output has to be there: then nothing is an output, too."""
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

    def write(self, arguments: dict[str, Any]) -> Body:
        """The body of a message. Raises ExecutionFailed."""
        if self._messages is None:
            return Body(msgspec.json.encode(arguments), JSON)
        try:
            return Body(self._messages.write(arguments), AVRO)
        except BadValue as error:
            raise ExecutionFailed("invalid_arguments", f"the message of {self._tool_id!r}: {error}") from None

    def read(self, reply: Any) -> Output:
        """The tool's output in a reply as `receiver.py` hands it over. Raises ExecutionFailed when the reply tells of a failure,
        or cannot be read."""
        said = msgspec.convert(reply, Replied)
        value = said.body
        if said.base64:
            value = self._binary(said.base64)
        if said.is_error:
            raise self._failed(value.get("error", value) if isinstance(value, dict) else value)
        value = self._opened(value) if isinstance(value, dict) else value
        return Output(EMPTY, is_acknowledgement=self._may_be_empty) if value is None else Output(value)

    def _opened(self, value: dict[str, Any]) -> Any:
        """What an envelope holds. Members that the output schema declares are the tool's own, not the envelope's."""
        around = _ENVELOPE - self._declared
        if value.keys() <= around:
            if "error" in value and value["error"] not in (None, False):
                raise self._failed(value["error"])
            if "result" in value:
                return value["result"]
            if isinstance(value.get("result_base64"), str):
                return self._binary(value["result_base64"])
        if "correlation_id" in around:
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
        except (ValueError, RecursionError) as error:  # BadValue, base64 that is none, JSON without end
            raise ExecutionFailed(
                "execution_failed", f"the reply for {self._tool_id!r}: {error}", code="reply_unreadable"
            ) from None

    def _failed(self, error: Any) -> ExecutionFailed:
        """The failure a reply tells of. Its own words are kept as output: they come from outside."""
        said = error if isinstance(error, dict) else {"message": error}
        code = excerpt(str(said.get("code") or ""), _LONGEST_CODE)
        kind = _TOLD.get(str(said.get("class") or ""), "execution_failed")
        after = said.get("retry_after")
        text = said.get("message")
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
        self, tool: Tool, schema: msgspec.Raw | None, written: Any, suffix: str, schema_id: int | None
    ) -> AvroFormat:
        try:
            if written is not None:
                return AvroFormat(given(written), schema_id)
            plain = msgspec.json.decode(schema) if schema else {}
            return AvroFormat(derived(plain, tool.name + suffix, tool.namespace or "ferrule"), schema_id)
        except BadSchema as error:
            raise ExecutionFailed(
                "setup_required", f"the Avro schema of {tool.tool_id!r} cannot be used: {error}"
            ) from None


class Replied(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply as it is stored with its call: JSON, or bytes in base64."""

    body: Any = None
    base64: str = ""
    is_error: bool = False
    native: dict[str, Any] = {}
    """Its native ids."""
