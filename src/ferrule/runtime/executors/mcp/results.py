"""Translates a server's result for the pipeline: an output, a failure of the tool, or a question to a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output, Waiting
from ferrule.model.failure import excerpt
from ferrule.model.tool import raw as raw_json
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.mcp.failures import bad_answer
from ferrule.schema.validation.validators import compile_schema

ELICIT = "elicitation/create"
_LONGEST_QUESTION = 2_000
_MOST_QUESTIONS = 16
_LONGEST_REASON = 500


class QuestionState(msgspec.Struct, frozen=True):
    """The stored state of a call that waits for a person's answer."""

    arguments: dict[str, Any]
    request_state: str | None
    questions: dict[str, str]
    """The kind of each question by its key: `form` or `url`."""


class ResultOptions(msgspec.Struct, frozen=True):
    """Options for reading the results of one tool."""

    reads_text: bool = False
    """True where structured content may come as JSON in the text alone, as servers of older revisions send it."""
    is_loose: bool = False
    """True for an output schema that requires no member: a result of blocks alone, or of nothing, satisfies it."""
    takes_text: Callable[[str], bool] = lambda text: False
    """Returns True for text that is itself a value of the tool; then it is not parsed as JSON."""
    is_own: bool = False
    """True for a program of the workspace: its error text is trusted as the message."""


DEFAULT_OPTIONS = ResultOptions()


def output_of(label: str, tool_name: str, result: JsonObject, options: ResultOptions = DEFAULT_OPTIONS) -> Output:
    """Returns the output of a finished call. Raises ExecutionFailed for one that the tool reports as failed (AT-196)."""
    content, is_error = result.get("content"), result.get("isError") is True
    if not isinstance(content, list):
        raise bad_answer(label, "a result without content", result)
    value = result.get("structuredContent")
    if "structuredContent" not in result and options.reads_text and not is_error:
        value = _from_text(content, options.takes_text)
    native = {"source": "mcp", "isError": is_error, **_record_only_parts(result)}
    is_free = options.is_loose and value is None and "structuredContent" not in result
    if not content and value is None:
        output = Output(EMPTY, native_refs=(native,), is_acknowledgement=is_free)
    else:
        output = Output(value, content=tuple(content), native_refs=(native,), is_acknowledgement=is_free)
    if is_error:
        error_text = _text_in(content) if options.is_own else None
        raise ExecutionFailed(
            "execution_failed",
            f"the tool {tool_name!r} failed: {excerpt(error_text, _LONGEST_REASON)}"
            if error_text
            else f"the tool {tool_name!r} of the MCP server {label!r} failed; what it said is in the result",
            code="tool_error",
            native_error_ref="mcp:isError",
            output=output,
        )
    return output


def question_of(label: str, arguments: JsonObject, result: JsonObject) -> Waiting:
    """Turns the server's questions into a waiting call. Raises ExecutionFailed for a question that no person can answer."""
    requests = result.get("inputRequests")
    state = result.get("requestState")
    if not isinstance(requests, dict) or not requests or len(requests) > _MOST_QUESTIONS:
        raise bad_answer(label, "a question without anything in it", result)
    schemas: JsonObject = {}
    words: list[str] = []
    kinds: dict[str, str] = {}
    for key, request in requests.items():
        params = request.get("params") if isinstance(request, dict) else None
        if not isinstance(params, dict) or request.get("method") != ELICIT:
            raise ExecutionFailed(
                "capability_gap",
                f"the MCP server {label!r} asks for something that only a model or a file browser could give",
                code="upstream_needs_capability",
            )
        kinds[key] = "url" if params.get("mode") == "url" else "form"
        schemas[key] = _answer_schema(params, kinds[key])
        words.append(_question(params, kinds[key]))
    state_kept = QuestionState(arguments, state if isinstance(state, str) else None, kinds)
    only = next(iter(schemas.values())) if len(schemas) == 1 else None
    return Waiting(
        message=excerpt(f"the MCP server {label!r} asks: {' / '.join(words)}", _LONGEST_QUESTION),
        state=msgspec.json.encode(state_kept),
        answer_schema=only if only is not None else _object(schemas),
    )


def responses_of(state: QuestionState, answer: object) -> JsonObject:
    """Encodes a person's answer as the protocol's responses, one for every question."""
    answers = {next(iter(state.questions)): answer} if len(state.questions) == 1 else answer
    responses: JsonObject = {}
    for key, kind in state.questions.items():
        value = answers.get(key) if isinstance(answers, dict) else None
        if kind == "url":
            responses[key] = {"action": "accept" if value is True else "decline"}
        elif isinstance(value, dict):
            responses[key] = {"action": "accept", "content": value}
        else:
            responses[key] = {"action": "decline"}
    return responses


def _answer_schema(params: JsonObject, kind: str) -> JsonObject:
    if kind == "url":
        return {"type": "boolean", "description": "true when it is done, false when it will not be"}
    schema = params.get("requestedSchema")
    if not isinstance(schema, dict):
        return {"type": "object"}
    try:
        compile_schema(bytes(raw_json(schema)))
    except Exception:  # an upstream's schema may be broken in any way; the answer is then accepted as it is
        return {"type": "object"}
    return schema


def _question(params: JsonObject, kind: str) -> str:
    message = params.get("message")
    text = message if isinstance(message, str) else "(nothing said)"
    return f"{text} (open {params.get('url')} and answer true when it is done)" if kind == "url" else text


def _object(schemas: JsonObject) -> JsonObject:
    return {"type": "object", "properties": schemas, "required": list(schemas), "additionalProperties": False}


def _text_in(content: list[Any]) -> str | None:
    """Returns the text of a single text block; None for anything else."""
    block = content[0] if len(content) == 1 else None
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _from_text(content: list[Any], takes_text: Callable[[str], bool]) -> Any:
    """Parses the JSON in a single text block; None for anything else, or when the text itself is the value."""
    text = _text_in(content)
    if text is None or text.lstrip()[:1] not in ("{", "[") or takes_text(text):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _record_only_parts(result: JsonObject) -> JsonObject:
    """Returns the parts of a result that go into the record only (AT-260)."""
    state_kept = {"_meta": result["_meta"]} if "_meta" in result else {}
    if "structuredContent" in result and result["structuredContent"] is None:
        state_kept["structuredContent"] = None
    return state_kept
