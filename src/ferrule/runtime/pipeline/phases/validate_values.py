"""Phase 4: checks values and runs the preflight, before any side effect, hook or permission (AT-111).

It detects repeated idempotency keys, refuses a tool that cannot run in this process, and checks deny rules early for
a tool that demands it, before anything outside is probed (AT-39).
"""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.policy import JudgedCall
from ferrule.infra.tasks import resolve
from ferrule.model.failure import Stop
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.admission import check_key_holder, scope_key
from ferrule.runtime.pipeline.call import Call, DuplicateCall
from ferrule.runtime.pipeline.hooks.permission import deny_call, run_decision_hooks
from ferrule.runtime.pipeline.services import Services


def validate_values(call: Call, services: Services) -> Stop | Awaitable[Stop | DuplicateCall | None] | None:
    """Adds nothing. Stops with `invalid_arguments`, `capability_gap`, `setup_required`, `credential_missing`, or (early
    deny) `permission_denied`."""
    prepared = call.prepared
    if prepared.unready is None and prepared.preflight is None and call.options.idempotency_key is None:
        return None
    return _check_values(call, services)


async def _check_values(call: Call, services: Services) -> Stop | DuplicateCall | None:
    prepared = call.prepared
    if call.options.idempotency_key is not None:
        # First of all: a repeated request gets its first answer, even where the tool could not run any more.
        call.key = scope_key(call)
        step = check_key_holder(await services.store.find_key(call.key[0]), call.key)
        if step is not None:
            return step
    if prepared.unready is not None:
        call.key = None  # nothing ran and nothing was decided, so the key stays free; also below
        return prepared.unready
    if prepared.preflight is None:
        return None
    if prepared.traits.denies_before_io and prepared.program is not None:
        facts, _ = services.call_facts(
            prepared.require_entry().tool, call.inputs.require_arguments(), services.classifiers
        )
        ruling = prepared.program.early_deny(JudgedCall(_copy_arguments(call), facts, services.now()))
        if ruling is not None:
            stop = deny_call(call, ruling, services)
            await resolve(run_decision_hooks(call, services, stop))
            return stop
    try:
        problem: Any = prepared.preflight(_copy_arguments(call))
        if isawaitable(problem):
            problem = await problem
    except ExecutionFailed as failed:
        call.key = None
        return Stop(failed.error_class, failed.message, failed.code, failed.retry_after, failed.native_error_ref)
    if problem is None:
        return None
    call.key = None
    return Stop("invalid_arguments", str(problem))


def _copy_arguments(call: Call) -> JsonObject:
    """Copies the arguments: a preflight that edits its copy changes nothing."""
    arguments: JsonObject = msgspec.json.decode(call.inputs.current)
    return arguments
