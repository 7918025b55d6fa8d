"""Outcomes of calls in OXP: the one place that decides which failures are an answer of the server and which of the
tool.

Before the call and not about its input: 400. Invalid input: 422. Everything else ran, or was decided by policy: 200
(OXP-23).
"""

from __future__ import annotations

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.store import Store
from ferrule.errors import LedgerError
from ferrule.model.failure import ErrorClass, ToolError
from ferrule.model.result import Pending, Result
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import error_codes
from ferrule.runtime.pipeline.admission import KEY_CONFLICT
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.oxp.wire import OxpBadRequest, make_answer

PENDING_RETRY_MS = 5_000
"""When a caller may ask again about a call that waits for a person."""
_RUNNING_RETRY_MS = 1_000
_LONGEST_WORDS = 2_000
_BEFORE: frozenset[ErrorClass] = frozenset({"unknown_tool", "schema_not_loaded", "setup_required", "capability_gap"})
"""Error classes of failures before a call, unless the system behind the tool reported them."""
_REQUIREMENTS = frozenset({"authorization_required", "secret_unbound", "secret_unavailable", "user_id_required"})
"""Error codes of requirements that turned out not to be met."""
_LATER = frozenset({"ledger_unavailable", "outcome_not_recorded"})
_RETRIED = frozenset({"retry", "retry_later", "change_arguments"})


def find_refusal(result: Result) -> OxpBadRequest | None:
    """Returns the refusal of a call that never began; None for one that ran or was denied."""
    error = result.error
    if error is None:
        return None
    if error.error_code == KEY_CONFLICT:
        return OxpBadRequest("this call_id was used for another input; use a new one for a new call")
    if error.error_code in _REQUIREMENTS:
        missing = result.structured_content
        more = {"missing_requirements": missing} if isinstance(missing, dict) else {}
        return OxpBadRequest(error.message, **more)
    # The system behind the tool said so: the call ran, whatever the class is.
    if error.native_error_ref is not None:
        return None
    if error.error_code in _LATER and error.error_class == "dependency_unavailable":
        return OxpBadRequest("the server is temporarily unavailable; try again later")
    if result.abort_reason == "runtime_shutdown" and error.retry.retry_safe:
        return OxpBadRequest("the server is about to stop; try again later")
    return OxpBadRequest(error.message) if error.error_class in _BEFORE else None


async def is_about_input(result: Result, store: Store) -> bool:
    """Returns True when the input was refused before anything ran: by the tool's schema, or by its own check (OXP-24)."""
    error = result.error
    if error is None or error.error_class != "invalid_arguments":
        return error is not None and error.error_class == "schema_validation_failed"
    if error.error_code == "input_mutation_failed":  # a hook changed the input, so it is not the caller's mistake
        return False
    try:
        rows = await store.rows_of(result.invocation_id)
    except LedgerError:
        return False
    return [row.outcome for row in rows] == [
        "validation_failed"
    ]  # a tool that ran and reports invalid arguments has failed


def encode_success(call_id: str, result: Result, value: object) -> JsonObject:
    """Returns the `CallToolResponse` of a call that succeeded. No output is no `value` (OXP-31, OXP-32)."""
    response: JsonObject = {"call_id": call_id, "duration": compute_duration_ms(result), "success": True}
    return response if value is None else {**response, "value": value}


def encode_failure(call_id: str, tool: Tool, result: Result) -> JsonObject:
    """Returns the `CallToolResponse` of a call that ran and failed, or was denied (OXP-22, OXP-33)."""
    assert result.error is not None
    error = result.error
    details: JsonObject = {"message": _compose_message(result, error), "can_retry": _may_retry(error)}
    details["developer_message"] = f"{error.error_class}, {error.error_code}: invocation {result.invocation_id}"
    after = error.retry_after if error.retry_after is not None else error.retry.retry_after
    if after is not None and details["can_retry"]:
        details["retry_after_ms"] = max(0, round(after * 1000))
    advice = _find_agent_action(tool, error)
    if advice:
        details["additional_prompt_content"] = advice
    return {"call_id": call_id, "duration": compute_duration_ms(result), "success": False, "error": details}


def encode_invalid_value(call_id: str, result: Result, message: str) -> JsonObject:
    """Returns the `CallToolResponse` of a call whose value is invalid. The tool did its work, so the call must not be
    retried.
    """
    return {
        "call_id": call_id,
        "duration": compute_duration_ms(result),
        "success": False,
        "error": {
            "message": message,
            "can_retry": False,
            "developer_message": f"unfit value: invocation {result.invocation_id}",
        },
    }


def encode_pending(call_id: str, message: str, invocation_id: str = "", *, is_running: bool = False) -> JsonObject:
    """Returns the `CallToolResponse` of a call that has not ended: the same `call_id` gets its outcome later."""
    error: JsonObject = {
        "message": f"{message}; call again with the same call_id to learn how it ended",
        "can_retry": True,
        "retry_after_ms": _RUNNING_RETRY_MS if is_running else PENDING_RETRY_MS,
        "pending": True,
    }
    if invocation_id:
        error["invocation_id"] = invocation_id
    return {"call_id": call_id, "success": False, "error": error}


def encode_recorded_pending(call_id: str, waiting: Pending) -> JsonObject:
    """Returns the `CallToolResponse` of a parked or running call that the ledger has."""
    is_running = waiting.state in ("running", "queued", "approved")
    return encode_pending(call_id, waiting.message, waiting.invocation_id, is_running=is_running)


def encode_bad_request(refusal: OxpBadRequest) -> HttpAnswer:
    """Returns a `ServerErrorResponse` (OXP-35)."""
    return make_answer(400, {"message": refusal.message, **refusal.more})


def encode_invalid_input(message: str, parameters: dict[str, str]) -> HttpAnswer:
    """Returns a `ValidationErrorResponse` (OXP-35)."""
    more = {"parameter_errors": parameters} if parameters else {}
    return make_answer(422, {"message": message, **more})


def compute_duration_ms(result: Result) -> float:
    """Returns how long a call took. The id holds its start, so a stored response equals the first one."""
    try:
        began = int(result.invocation_id[4:18], 16)
    except ValueError:
        return 0.0
    return round(max(0, result.created_at - began) / 1000, 3)


def _may_retry(error: ToolError) -> bool:
    return error.recoverability in _RETRIED and error.retry.retry_safe


def _compose_message(result: Result, error: ToolError) -> str:
    """Returns the error message with the tool's own text."""
    own = result.text
    return error.message if own in error.message else f"{error.message}: {own[:_LONGEST_WORDS]}"


def _find_agent_action(tool: Tool, error: ToolError) -> str:
    """Returns the advice that the tool's definition gives agents for this status (AML-36)."""
    kind, _, status = (error.native_error_ref or "").partition(":")
    if kind != "http" or tool.dialect != "aml":
        return ""
    try:
        meant = error_codes(tool).get(status)
    except ExecutionFailed:
        return ""
    return meant.agent_action if meant is not None else ""
