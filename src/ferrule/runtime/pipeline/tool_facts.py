"""Facts of a tool that the pipeline needs before any call: read once from its definition, whatever the dialect."""

from __future__ import annotations

import msgspec
from jsonschema_rs import Validator

from ferrule.model.decision import Risk
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import FACT_NAMES, TASK_USES, TaskUse, Tool, risk_of
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.results.output_contract import OutputPolicy, read_output_policy
from ferrule.schema.validation.validators import compile_schema

_TIMEOUTS = (("interface", "timeout_ms"), ("execution_profile", "timeout_ms"), ("transport", "timeout_ms"))


class ToolTraits(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a tool that do not depend on the call."""

    is_read_only: bool = False
    """Plainly declared (or implied by the dialect). Anything else is an action, recorded before it runs."""
    is_repeatable: bool = False
    """Read-only or declared idempotent: another attempt cannot do something twice."""
    has_expressions: bool = False
    """True when a safety fact is evaluated per call (`classifier:…`, `same_as:…`)."""
    denies_before_io: bool = False
    is_input_fixed: bool = False
    """True when its contract forbids hooks and approvers to change the input (AT-82)."""
    timeout_seconds: float | None = None
    risk: Risk = "high"
    facts: tuple[object, ...] = ()
    """The first four safety facts, in the order of `FACT_NAMES`."""

    task: TaskUse = "auto"
    """Whether a caller that supports tasks gets one."""
    output_policy: OutputPolicy | None = None
    """How its results are kept; None without any statement."""

    def compile_output_validator(self, tool: Tool) -> Validator | None:
        """Compiles the validator of the tool's output schema; None without one."""
        return compile_schema(bytes(tool.output_schema)) if tool.output_schema is not None else None


def read_traits(entry: SurfaceEntry) -> ToolTraits:
    """Reads the traits of a surface's tool."""
    tool = entry.tool
    payload = decode_payload(tool)
    facts = tool.facts
    interface = _get_object(payload, "tool_interface") or _get_object(payload, "interface")
    is_read_only = facts.is_read_only is True
    flags = (facts.is_read_only, facts.is_concurrency_safe, facts.is_destructive, facts.is_open_world)
    contract = _get_object(payload, "input_contract")
    return ToolTraits(
        is_read_only=is_read_only,
        is_repeatable=is_read_only or payload.get("idempotent") is True,
        has_expressions=any(isinstance(flag, str) for flag in flags),
        denies_before_io=interface.get("deny_before_io") is True or payload.get("deny_before_io") is True,
        is_input_fixed=_forbids(contract.get("mutation_policy")),
        timeout_seconds=_read_timeout(payload),
        risk=risk_of(tool, payload),
        facts=tuple(getattr(facts, name) for name in FACT_NAMES[:4]),
        task=_read_task(payload),
        output_policy=read_output_policy(tool, payload),
    )


def is_input_fixed(tool: Tool) -> bool:
    """Returns True when the tool's contract forbids hooks and people to replace its input (AT-82)."""
    return _forbids(_get_object(decode_payload(tool), "input_contract").get("mutation_policy"))


def _forbids(policy: object) -> bool:
    """Returns True when a `mutation_policy` forbids replacing the input. The standard gives it no shape:

    a word, a flag, or an object of these, where one no is enough.
    """
    if isinstance(policy, dict):
        return any(map(_forbids, policy.values()))
    return policy is False or policy in ("forbid", "forbidden", "deny", "none", "never", "immutable")


def decode_payload(tool: Tool) -> JsonObject:
    """Returns the definition of a tool; empty when it is unreadable."""
    try:
        payload = msgspec.json.decode(tool.payload)
    except msgspec.DecodeError:
        return {}
    return payload if isinstance(payload, dict) else {}


def _get_object(payload: JsonObject, key: str) -> JsonObject:
    part = payload.get(key)
    return part if isinstance(part, dict) else {}


def _read_timeout(payload: JsonObject) -> float | None:
    """Returns the smallest limit that interface, execution profile or transport state (AT-210)."""
    stated = [payload.get("timeout_ms"), _get_object(payload, "tool_interface").get("timeout_ms")]
    stated += [_get_object(payload, part).get(key) for part, key in _TIMEOUTS]
    limits = [value / 1000 for value in stated if isinstance(value, int | float) and value > 0 and value is not True]
    return min(limits) if limits else None


def _read_task(payload: JsonObject) -> TaskUse:
    stated = _get_object(payload, "execution_profile").get("task")
    return next((use for use in TASK_USES if use == stated), "auto")
