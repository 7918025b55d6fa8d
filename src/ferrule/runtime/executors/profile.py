"""How a tool runs in this process, as the standard's execution profile: every capability is said, also those it does not have
(AT-194), and a program says how exactly it is run (AT-195)."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.executor import ExecutionFailed, Executor, Support
from ferrule.model.tool import Tool
from ferrule.runtime.executors.transports import transport_of

_KINDS = {"rest-api": "http_api", "lambda": "http_api", "mcp": "mcp_server"}
_NOTHING = Support(timeout=False, result_persistence=False)


def profile_of(tool: Tool, executor: Executor | None) -> dict[str, Any]:
    """The profile of one tool with the executor that would run it; `unready` says why it could not run."""
    transport = transport_of(tool)
    kind = "embedded_runtime" if transport is None else _KINDS.get(transport, "hybrid")
    profile = {"execution_profile_id": f"{tool.tool_id}.here", "execution_kind": kind}
    if executor is None:
        return {**profile, **_NOTHING.to_record(), "unready": "no executor here runs tools of this kind"}
    try:
        run = executor.prepare(tool)
    except ExecutionFailed as failed:
        return {**profile, **executor.support.to_record(), "unready": failed.message}
    support: Support = getattr(run, "support", None) or executor.support
    return {**profile, **support.to_record(), **getattr(run, "profile", {})}
