"""How a call ended, as `CallToolResult` of each revision (sections 11 and 29).

What failed is a result, too: `isError` with words that a model can act on (MCP-151). The few things that are answered as
errors of the protocol are in `methods/tools_call.py`.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ferrule.model.client_requests import MISSING
from ferrule.model.failure import Recoverability, ToolError
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.wire.blocks import OLDEST, STORED, Block, is_plain, project_blocks
from ferrule.servers.mcp.wire.messages import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    MODERN,
    OWN,
    RpcError,
    encode,
    is_reserved,
)
from ferrule.servers.mcp.wire.projection import MEMBER, wraps_output

INVOCATION = OWN + "invocation"
"""In `_meta` of a result: the call, as the ledger and its people know it."""
ERROR = OWN + "error"
"""In `_meta` of a failed one: what failed, for programs."""
_SHAPES_KEPT = 4096

_ADVICE: dict[Recoverability, str] = {
    "retry": "The same call can be made again.",
    "retry_later": "The same call can be made again later.",
    "change_arguments": "Call it again with other arguments.",
    "change_arguments_or_policy": "Call it with other arguments, or ask the person you work for; the same call fails again.",
    "discover_first": "Look for the tool first: list or search the tools.",
    "request_approval": "A person has to approve it.",
    "complete_setup": "A person has to set something up first; tell them.",
    "not_recoverable": "Calling it again does not help.",
}
_UNSTRUCTURED = "The tool did its work, so do not call it again for that. {why}, so this is no structured result."
_STORED = "Its output is too large to be shown whole"
_MISFIT = "Its output is not what its output schema promises"


class Shape(msgspec.Struct, frozen=True):
    """The shape of a tool's results, known before there are any."""

    validator: Any
    """Of its output schema; None when it has none."""
    is_wrapped: bool
    """True when sessions get its value inside of an object (MCP-144)."""


BARE = Shape(None, is_wrapped=False)
_shapes: dict[str, Shape] = {}


def shape_of(prepared: Prepared | None) -> Shape:
    """Returns the shape of a tool's results, found once per definition."""
    if prepared is None or prepared.validates_output is None or prepared.entry is None:
        return BARE
    shape = _shapes.get(prepared.entry.digest)
    if shape is None or shape.validator is not prepared.validates_output:
        shape = Shape(prepared.validates_output, wraps_output(prepared.entry.tool))
        if len(_shapes) >= _SHAPES_KEPT:
            _shapes.clear()
        _shapes[prepared.entry.digest] = shape
    return shape


def encode_call_result(server: McpService, revision: str, result: Result, shape: Shape) -> bytes:
    """Encodes the result of a call that ended."""
    if result.error is not None:
        return _encode_failure(server, revision, result, result.error)
    blocks, native = result.content, result.native_meta
    meta = None if native is None else _passed_on(native)
    if result.model_facing_content is not None:  # not the tool's own words any more, so nothing is said beside them
        blocks, meta = result.model_facing_content, None
    value = result.structured_content
    # 2025-03-26 has no structured content.
    if shape is not BARE and revision != OLDEST:
        if value is None or not shape.validator.is_valid(value):
            value = _find_value(shape, result)
            if value is msgspec.UNSET:
                return _encode_misfit(server, revision, result, blocks)
        has_value = True
    else:
        has_value = value is not None and revision != OLDEST
    structured, plain = b"", is_plain(blocks)
    if has_value:
        bare = whole = encode_value(value)
        if revision != MODERN and (shape.is_wrapped or not isinstance(value, dict)):
            whole = b'{"%b":%b}' % (MEMBER.encode(), bare)
        structured = b',"structuredContent":%b' % whole
        is_wrapped = whole is not bare
        # A hook's words stay; so does a plain text beside an unwrapped value: it is that value, or the tool's own.
        is_own = (is_wrapped or not plain) and result.model_facing_content is None
        if is_own and _says_otherwise(blocks, bare, is_wrapped=is_wrapped):
            blocks, plain = ({"type": "text", "text": whole.decode()},), True
    content = encode(blocks if plain else project_blocks(blocks, revision))
    return write_result(server, revision, content, structured, result.invocation_id, meta)


def _says_otherwise(blocks: tuple[Block, ...], value: bytes, *, is_wrapped: bool) -> bool:
    """True when the text beside a value has to be the same JSON, and is not (MCP-148): it is the value without what it is
    wrapped in, or says in words that there is none. What a tool itself put there stays, and so does a value that is text."""
    if len(blocks) != 1 or blocks[0].get("type") != "text":
        return False
    return "empty" in blocks[0] or (is_wrapped and is_plain(blocks) and blocks[0]["text"].encode() == value)


def build_result(exchange: Exchange, result: Result, prepared: Prepared | None, name: str = "") -> dict[str, Any]:
    """Builds the same as an object, to be put into another one. Raises RpcError for what is an error of the protocol."""
    refuse_protocol_errors(exchange, result, name)
    said: dict[str, Any] = msgspec.json.decode(
        encode_call_result(exchange.server, exchange.revision, result, shape_of(prepared))
    )
    return said


def refuse_protocol_errors(exchange: Exchange, result: Result, name: str = "") -> None:
    """Raises RpcError for the ends of a call that are no results: its tool is not known (MCP-150), or its client cannot be
    asked what it needs (MCP-109; sessions get that as a result)."""
    error = result.error
    if error is None:
        return
    if error.error_class == "unknown_tool":
        raise unknown_tool_error(name)
    refuse_lacking(exchange, result)


def refuse_lacking(exchange: Exchange, result: Result) -> None:
    """Raises RpcError for a call that ended because its client cannot be asked."""
    error = result.error
    if exchange.is_modern and error is not None and error.error_code == MISSING:
        raise missing_capability_error((error.native_error_ref or "").split(", "))


def unknown_tool_error(name: str) -> RpcError:
    """Builds the error of a tool that does not exist, or that the caller may not know of: both in the same words."""
    return RpcError(INVALID_PARAMS, f"Unknown tool: {name[:200]}")


def missing_capability_error(missing: list[str]) -> RpcError:
    """Builds the error of a request that needs what its client did not declare (MCP-109, MCP-121)."""
    needed: dict[str, Any] = {}
    for feature in missing:
        name, _, part = feature.partition(".")
        inside = needed.setdefault(name, {})
        if part:
            inside[part] = {}
    message = f"the tool asks its client for {', '.join(missing)}, which this request does not declare"
    return RpcError(MISSING_CAPABILITY, message, {"requiredCapabilities": needed})


def write_result(
    server: McpService,
    revision: str,
    content: bytes,
    rest: bytes,
    invocation_id: str,
    meta: dict[str, Any] | None = None,
) -> bytes:
    """Writes a result from its parts: blocks as JSON, and further members, each after a comma."""
    others, call = encode(meta)[1:-1] + b"," if meta else b"", invocation_id.encode()
    if revision == MODERN:
        return b'{"content":%b%b,"resultType":"complete","_meta":{%b"dev.ferrule/invocation":"%b",%b}}' % (
            content, rest, others, call, server.meta
        )  # fmt: skip
    return b'{"content":%b%b,"_meta":{%b"dev.ferrule/invocation":"%b"}}' % (content, rest, others, call)


def _passed_on(meta: dict[str, Any] | None) -> dict[str, Any] | None:
    """Keeps what a server behind us said beside its result, without names that are the protocol's or ours: those speak of whoever
    answers, and that is this server (MCP-14, MCP-105)."""
    return meta and {name: said for name, said in meta.items() if not (name.startswith(OWN) or is_reserved(name))}


def encode_value(value: Any) -> bytes:
    """Encodes anything a result holds, numbers past 64 bits too."""
    try:
        return encode(value)
    except OverflowError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_result(exchange: Exchange, text: str, *, is_error: bool, meta: dict[str, Any] | None = None) -> bytes:
    """A result that only says something."""
    blocks = [{"type": "text", "text": text}]
    rest = {"isError": True} if is_error else {}
    return encode(
        exchange.server.complete_result(exchange, {"content": blocks, **rest, **({"_meta": meta} if meta else {})})
    )


def _find_value(shape: Shape, result: Result) -> Any:
    """Returns the value of a tool with an output schema whose result has none that fits: a text, or `None` where the schema
    takes those; unset when what is left of it does not fit (MCP-147)."""
    if result.structured_content is not None:
        return msgspec.UNSET
    blocks, fits = result.content, shape.validator.is_valid
    text = blocks[0].get("text") if len(blocks) == 1 and "empty" not in blocks[0] else None
    if isinstance(text, str) and fits(text):
        return text
    is_stored = any(block.get("type") == STORED for block in blocks)
    return None if not is_stored and fits(None) else msgspec.UNSET


def _encode_misfit(server: McpService, revision: str, result: Result, blocks: tuple[Block, ...]) -> bytes:
    """Encodes output that does not fit its schema, as an error: clients would refuse it as a success. The tool did its work."""
    why = _STORED if result.native_output_ref is not None else _MISFIT
    told = [{"type": "text", "text": _UNSTRUCTURED.format(why=why)}, *project_blocks(blocks, revision)]
    return write_result(server, revision, encode(told), b',"isError":true', result.invocation_id)


def _encode_failure(server: McpService, revision: str, result: Result, error: ToolError) -> bytes:
    """Encodes what failed, why, and what helps. No structured content: clients would look at that instead (MCP-149)."""
    blocks = result.content if result.model_facing_content is None else result.model_facing_content
    shown = project_blocks(blocks, revision)
    words = describe_advice(error)
    if shown and shown[0].get("text") == error.message:
        shown[0] = {**shown[0], "text": f"{error.message}\n\n{words}"}
    else:  # what it achieved comes after what went wrong
        shown.insert(0, {"type": "text", "text": f"{error.message}\n\n{words}"})
    native = _passed_on(result.native_meta) if result.model_facing_content is None else None
    meta = {**(native or {}), ERROR: list_error_facts(error)}
    return write_result(server, revision, encode(shown), b',"isError":true', result.invocation_id, meta)


def describe_advice(error: ToolError) -> str:
    """Says what a model can do about an error."""
    words = _ADVICE[error.recoverability]
    if error.retry_after is not None:
        words = f"{words} Wait {max(1, round(error.retry_after))} seconds first."
    if not error.retry.retry_safe:
        words = f"{words} It may have acted already; look before you do it again."
    name = error.error_class if error.error_code == error.error_class else f"{error.error_class}, {error.error_code}"
    return f"[{name}] {words}"


def list_error_facts(error: ToolError) -> dict[str, Any]:
    """Returns the facts of an error, for programs."""
    said: dict[str, Any] = {
        "class": error.error_class,
        "code": error.error_code,
        "recoverability": error.recoverability,
        "retrySafe": error.retry.retry_safe,
    }
    if error.retry_after is not None:
        said["retryAfterSeconds"] = error.retry_after
    return said


def waiting_result(exchange: Exchange, pending: Pending, lookup: str) -> bytes:
    """A call that has not ended: what it waits for, where that is given, and how its result is found later."""
    call = pending.invocation_id
    where = {
        "awaiting_approval": f"A person has to approve it, in the console's inbox or with 'ferrule approve {call}'."
        " You cannot approve it yourself.",
        "needs_input": f"A person has to answer it, in the console's inbox or with 'ferrule answer {call}'.",
    }.get(pending.state, "It goes on without you.")
    text = (
        f"The call has not ended: {pending.message}. {where} Do not make the call again: this one goes on by itself."
        f" Its result can be had later: {lookup}"
    )
    meta = {INVOCATION: call, OWN + "state": pending.state}
    return text_result(exchange, text, is_error=True, meta=meta)
