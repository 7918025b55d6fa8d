"""Filters that keep tools off a surface, each with its own reason (AT-36, AT-68, AT-70).

The first that objects is the reason on record. A filter that cannot decide objects. The list a tool goes to follows
the standard: role, recursion, feature, model and policy lead to `excluded`; a tool that waits for an action (setup, a
credential, the switch) is `blocked`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import msgspec

from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.surface import Readiness
from ferrule.model.surface import HoldReason, SurfaceEntry, SurfaceRequest
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, is_number
from ferrule.runtime.surface.availability import Availability, list_credential_names
from ferrule.runtime.surface.candidates import Hold, RoleCeiling
from ferrule.schema.validation.usability import why_unusable

_SANDBOXED_KINDS = frozenset({"shell_command", "code_execution"})
_KNOWN_CAPABILITIES = frozenset({"strict_schemas", "parallel_calls", "deferred_refs", "media"})
_HANDED_TO = frozenset({"oxp", "oxp_server"})
"""Dialects whose callers may bring what a tool requires."""
_USABLE = frozenset({"available", "deprecated", "deferred", "requires_setup"})


class FilterContext(msgspec.Struct, frozen=True):
    """The circumstances a surface is made in."""

    request: SurfaceRequest
    ceilings: tuple[RoleCeiling, ...] = ()
    switched_off: Container[str] = ()
    readiness: Readiness | None = None
    can_run: Callable[[Tool], bool] | None = None
    engine: PolicyEngine | None = None


class FilterSubject(msgspec.Struct, gc=False):
    """One tool under consideration."""

    tool: Tool
    stated: Availability
    context: FilterContext


Filter = Callable[[FilterSubject], Hold | None]


def _block(reason: HoldReason, detail: str) -> Hold:
    return Hold("blocked", reason, detail)


def _exclude(reason: HoldReason, detail: str) -> Hold:
    return Hold("excluded", reason, detail)


def is_usable(tool: Tool, readiness: Readiness | None) -> bool:
    """Returns True when a tool's lifecycle lets it be called, or this process switches it on."""
    if tool.lifecycle in _USABLE:
        return True
    return tool.lifecycle == "disabled" and readiness is not None and readiness.is_switched_on(tool)


def check_lifecycle(subject: FilterSubject) -> Hold | None:
    """Holds draft, retired and unknown lifecycles; `disabled` may come back (AT-11, AT-13, AT-17)."""
    state = subject.tool.lifecycle
    if is_usable(subject.tool, subject.context.readiness):
        return None
    if state == "disabled":
        return _block(
            "feature_disabled", f"its definition is disabled; {_explain_activation(subject.tool)} and build again"
        )
    return _exclude("feature_disabled", f"its lifecycle is {state!r}, so nobody can call it")


def _explain_activation(tool: Tool) -> str:
    """Explains how a disabled definition is activated. The only tools that ADL disables are its built-ins (ADL-20)."""
    return f"set spec.config.tools.{tool.name}.enabled: true" if tool.dialect == "adl" else "activate it"


def check_switch(subject: FilterSubject) -> Hold | None:
    """Holds a tool that an operator switched off. That is a person's decision, not a missing capability:
    `policy_blocked`."""
    tool_id = subject.tool.tool_id
    if tool_id not in subject.context.switched_off:
        return None
    return _block("policy_blocked", f"it is switched off; 'ferrule enable {tool_id}' switches it on again")


def check_enabled(subject: FilterSubject) -> Hold | None:
    """Holds a tool whose `is_enabled` is not plainly true; an expression needs a call, so it counts as false."""
    stated = subject.stated.is_enabled
    if stated is True:
        return None
    said = "is false" if stated is False else f"is {stated!r}, which is not a plain true"
    return _exclude("feature_disabled", f"`is_enabled` of its interface {said}")


def check_feature_gates(subject: FilterSubject) -> Hold | None:
    """Holds a tool that names a closed feature gate."""
    refs = subject.stated.feature_gate_refs
    if not refs:
        return None
    if not isinstance(refs, list | tuple) or not all(isinstance(ref, str) for ref in refs):
        return _exclude("feature_disabled", "its `feature_gate_refs` cannot be read")
    closed = [ref for ref in refs if ref not in subject.context.request.features]
    return _exclude("feature_disabled", f"feature gates are closed: {', '.join(closed)}") if closed else None


def check_roles(subject: FilterSubject) -> Hold | None:
    """Holds a tool that some role in force does not grant."""
    for ceiling in subject.context.ceilings:
        if objection := ceiling.why_refused(subject.tool):
            return _exclude("role_not_allowed", objection)
    return None


def check_recursion(subject: FilterSubject) -> Hold | None:
    """Holds other agents from an agent that was called as a tool."""
    if subject.tool.tool_kind != "peer_agent_tool" or not subject.context.request.is_subagent:
        return None
    return _exclude("recursive_tool_forbidden", "an agent called by another agent calls no further agents")


def check_interaction(subject: FilterSubject) -> Hold | None:
    """Holds a tool that needs a person where there is none."""
    if subject.context.request.is_interactive or subject.tool.facts.requires_user_interaction is False:
        return None
    return _exclude("policy_blocked", "it needs a person to answer, and nobody can be asked here")


def check_model(subject: FilterSubject) -> Hold | None:
    """Holds a tool whose requirements the model does not meet."""
    required = subject.stated.model_requirements
    if not required:
        return None
    if not isinstance(required, dict):
        return _exclude("model_unsupported", "its `model_requirements` cannot be read")
    able = subject.context.request.model_capabilities
    lacking = [name for name, wanted in required.items() if not _is_met(name, wanted, able)]
    return _exclude("model_unsupported", f"the model lacks {', '.join(lacking)}") if lacking else None


def _is_met(name: str, wanted: object, able: JsonObject) -> bool:
    if wanted is False or wanted is None:
        return True
    # Hardly any caller names the standard's own four, so unsaid, a model has them.
    if name not in able:
        return name in _KNOWN_CAPABILITIES
    has = able[name]
    if has is True or has is False or wanted is True:
        return has is True or (has is not False and bool(has))
    if is_number(wanted):
        return is_number(has) and has >= wanted
    offered = has if isinstance(has, list | tuple) else [has]
    return all(one in offered for one in (wanted if isinstance(wanted, list) else [wanted]))


def check_browser(subject: FilterSubject) -> Hold | None:
    """Holds a browser tool without a browser session."""
    if subject.tool.tool_kind != "browser_action" or subject.context.request.has_browser:
        return None
    return _block("setup_required", "it needs a browser session, and there is none")


def check_sandbox(subject: FilterSubject) -> Hold | None:
    """Holds a tool that runs commands or code without a sandbox."""
    if subject.tool.tool_kind not in _SANDBOXED_KINDS or subject.context.request.has_sandbox:
        return None
    return _exclude("policy_blocked", "it runs commands or code, and there is no sandbox here")


def check_credentials(subject: FilterSubject) -> Hold | None:
    """Holds a tool with a missing credential. Runs before setup, because that is then the cause (AT-14)."""
    if subject.tool.credentials is None and not subject.stated.required_credentials:
        return None
    names = list_credential_names(subject.tool, subject.stated)
    if not names or (subject.context.request.brings_credentials and subject.tool.dialect in _HANDED_TO):
        return None
    readiness = subject.context.readiness
    missing = names if readiness is None else readiness.missing_credentials(subject.tool, names)
    return _block("credential_missing", f"credentials are missing: {', '.join(missing)}") if missing else None


def check_setup(subject: FilterSubject) -> Hold | None:
    """Holds a tool whose setup was not done."""
    if subject.tool.lifecycle != "requires_setup" and subject.stated.requires_setup in (False, None):
        return None
    readiness = subject.context.readiness
    if readiness is not None and readiness.is_set_up(subject.tool):
        return None
    return _block("setup_required", "it requires setup that was not done here")


def check_executor(subject: FilterSubject) -> Hold | None:
    """Holds a tool that no executor of this process can run."""
    can_run = subject.context.can_run
    if can_run is None or can_run(subject.tool):
        return None
    kind = subject.tool.tool_kind
    return _block("feature_disabled", f"nothing here runs it (kind {kind!r}); bind a function or register an executor")


def check_schemas(subject: FilterSubject) -> Hold | None:
    """Holds a tool with an unusable schema: none of its calls could be checked, so all would fail."""
    tool = subject.tool
    written = {"input": tool.input_schema, "runtime input": tool.runtime_input_schema, "output": tool.output_schema}
    for name, schema in written.items():
        if schema is not None and (problem := why_unusable(bytes(schema))) is not None:
            return _block("feature_disabled", f"its {name} schema cannot be used: {problem}")
    return None


FILTERS: tuple[Filter, ...] = (
    check_lifecycle,
    check_switch,
    check_enabled,
    check_feature_gates,
    check_roles,
    check_recursion,
    check_interaction,
    check_model,
    check_browser,
    check_sandbox,
    check_credentials,
    check_setup,
    check_executor,
    check_schemas,
)
"""In the order they are asked. Policy is asked last, about what is left (`find_policy_hold`)."""


def find_hold(subject: FilterSubject, filters: Sequence[Filter] = FILTERS) -> Hold | None:
    """Finds the first objection to a tool; None without one. A filter that fails objects."""
    for ask in filters:
        try:
            objection = ask(subject)
        except Exception as error:
            name, kind = getattr(ask, "__name__", "a check"), type(error).__name__
            return _block("policy_blocked", f"its availability is unknown: {name} failed ({kind})")
        if objection is not None:
            return objection
    return None


_SHUT_MODES = frozenset({"read_only", "locked"})
"""Modes that take whole kinds of tools off the surface (AT-70); what a rule denies is still judged call by call."""


def find_policy_hold(engine: PolicyEngine, entry: SurfaceEntry, request: SurfaceRequest) -> Hold | None:
    """Holds a tool that is denied whatever the arguments are: by a rule, or because the mode allows no writing."""
    try:
        ruling = engine.surface_ruling(entry, request)
    except Exception as error:
        return _exclude("policy_blocked", f"the policy failed ({type(error).__name__}), so nothing is allowed")
    if ruling is None or ruling.behavior == "allow":
        return None
    if ruling.behavior != "deny":
        return None
    is_shut = ruling.reason_type == "mode" and ruling.mode in _SHUT_MODES
    return Hold("excluded", "policy_blocked", ruling.message, is_judged=not is_shut)
