"""Prepares the tools of a surface for calling: validator, runner, policy program, row header, and the route of their calls.

It happens once per surface and tool. An unknown name is prepared too: as its refusal. `session` uses it and caches
the prepared tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

import msgspec
from jsonschema_rs import Validator

from ferrule.contracts.executor import ExecutionFailed, Executor, Run, Support
from ferrule.contracts.hook import Hook
from ferrule.contracts.policy import PolicyEngine
from ferrule.errors import FerruleError
from ferrule.infra.drivers import describe_failure
from ferrule.model.decision import Ruling
from ferrule.model.failure import BLOCK_CLASSES, Stop
from ferrule.model.hints import nearest
from ferrule.model.journal import Header, encode
from ferrule.model.lifecycle import PHASES, State
from ferrule.model.native_definition import native_refs
from ferrule.model.retry import NO_RETRIES, RetryPolicy, RetrySettings
from ferrule.model.scheduling import DEFAULT_POLICY, Claim, ModifierPolicy, stricter
from ferrule.model.surface import Surface, SurfaceEntry, principal_key
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.validation import Arguments, UnusableArguments
from ferrule.runtime.pipeline.locks import LockPlan, build_claim, read_lock_plan
from ferrule.runtime.pipeline.prepared import CallRoute, InPlace, Prepared, Turn
from ferrule.runtime.pipeline.retries import read_retry_policy
from ferrule.runtime.pipeline.tool_facts import ToolTraits, decode_payload, read_traits
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.runtime.scheduler.scheduler import Lane

_LONGEST_NAME = 200
_MAX_HINTED_NAMES = 500
"""Among more names no nearest one is searched: comparing takes time, and names come from callers."""

DEFAULT_RETRIES = RetrySettings()
_MODIFIER_POLICIES: tuple[ModifierPolicy, ...] = get_args(ModifierPolicy)
_POST_EVENTS = frozenset({"post_tool_use", "post_tool_use_failure"})
"""The events after the tool."""

FindExecutor = Callable[[Tool], Executor | None]
"""Returns the executor that can run a tool in this process."""


class Preparation:
    """The preparation of one surface's tools."""

    __slots__ = ("_engine", "_executor_of", "_hooks", "_is_known", "_lane", "_redact", "_retries", "_surface")

    def __init__(
        self,
        surface: Surface,
        engine: PolicyEngine | None,
        executor_of: FindExecutor,
        is_known: Callable[[str], bool],
        *,
        hooks: tuple[Hook, ...],
        lane: Lane,
        retries: RetrySettings,
        told: Callable[[str], str],
    ) -> None:
        self._surface = surface
        self._engine = engine
        self._executor_of = executor_of
        self._is_known = is_known
        self._hooks = hooks
        self._lane = lane
        self._retries = retries
        self._redact = told

    def prepare(self, name: str, entry: SurfaceEntry) -> Prepared:
        """Works out everything about a tool that does not depend on a call."""
        tool = entry.tool
        traits = read_traits(entry)
        refusal = _build_refusal(entry) or self._refuse_unchosen(entry)
        if refusal is not None:
            header = self._build_header(tool.tool_id, name, entry, traits)
            mask = Mask.of(tool)
            return Prepared(
                entry=entry,
                header=header,
                tool_id=tool.tool_id,
                refusal=refusal,
                traits=traits,
                is_repeatable=traits.is_repeatable,
                mask=mask,
            )
        assert self._engine is not None  # only sessions that end calls have none
        program = self._engine.program(entry, self._surface.request)
        fixed = program.fixed if not traits.has_expressions else None
        in_header = fixed if fixed is not None and fixed.behavior == "allow" else None
        run, unready, support = self._prepare_runner(tool)
        said = decode_payload(tool)
        locks = read_lock_plan(said, tool.tool_id, self._lane.policy)
        is_exclusive = _find_statement(said, "requires_exclusive_context") is True
        claim = self._build_claim(tool, traits, locks, is_exclusive=is_exclusive)
        mask, preflight = Mask.of(tool), getattr(run, "preflight", None)
        hooks = _find_hooks(self._hooks, tool)
        retry = read_retry_policy(said, self._retries) if support.retries else NO_RETRIES
        is_loaded = entry.standing == "loaded" or entry.is_judged
        is_checked, is_decided = preflight is not None or unready is not None, in_header is not None
        wants_context = getattr(run, "wants_context", True)
        is_stoppable_read = traits.is_read_only and support.cancel
        route = CallRoute(
            idle=_find_idle_phases(
                hooks, is_loaded=is_loaded, is_checked=is_checked, is_masked=mask is not None, is_decided=is_decided
            ),
            # The quick path of `schedule` counts no calls, so a tool with a limit never takes it.
            turn="in_line" if not traits.is_read_only or self._is_limited(entry) else self._choose_turn(claim),
            wants_context=wants_context,
            in_place=_choose_in_place(run, retry, wants_context=wants_context) if is_stoppable_read else "never",
        )
        arguments, validates_output = _compile_schemas(tool, traits)
        return Prepared(
            entry=entry,
            header=self._build_header(
                tool.tool_id, name, entry, traits, in_header, self._describe_scheduling(claim, said)
            ),
            tool_id=tool.tool_id,
            is_loaded=is_loaded,
            arguments=arguments,
            mask=mask,
            run=run,
            unready=unready,
            preflight=preflight,
            program=program,
            fixed=fixed,
            header_ruling=in_header,
            traits=traits,
            validates_output=validates_output,
            support=support,
            upstream=getattr(run, "upstream", "") or tool.tool_id,
            is_repeatable=traits.is_repeatable or getattr(run, "is_repeatable", False),
            claim=claim,
            locks=locks,
            is_exclusive=is_exclusive,
            modifier_policy=_read_modifier_policy(said),
            retry=retry,
            route=route,
            hooks=hooks,
        )

    def refuse_name(self, name: str) -> Prepared:
        """Builds the refusal of an unknown name (AT-91)."""
        name = self._redact(str(name).encode("utf-8", "backslashreplace").decode())[:_LONGEST_NAME]  # on record
        tool_id = f"unknown:{name}"
        if self._surface.is_ambiguous(name):
            ids = ", ".join(self._surface.names[name])
            message = f"{name!r} means several tools here ({ids}); call one of them by its id"
            refusal = Stop("unknown_tool", message, "ambiguous_name")
        elif self._is_known(name):
            message = f"the tool {name!r} exists, but it is not on this surface; ask whoever owns the agent to add it"
            refusal = Stop("unknown_tool", message, "tool_not_surfaced")
        else:
            refusal = Stop(
                "unknown_tool", f"there is no tool {name!r} on this surface{self._suggest_name(name)}", "tool_not_found"
            )
        return Prepared(entry=None, header=self._build_header(tool_id, name), tool_id=tool_id, refusal=refusal)

    def _suggest_name(self, name: str) -> str:
        """Suggests the nearest name the caller may know, or the search tool where there is one."""
        names = (word for word, ids in self._surface.names.items() if self._surface.entries[ids[0]].is_visible)
        hint = nearest(name, names) if len(self._surface.names) <= _MAX_HINTED_NAMES else None
        if hint:
            return f"; {hint}"
        return "; search_tools finds tools by what they do" if "search_tools" in self._surface.names else ""

    def may_ask(self, entry: SurfaceEntry) -> bool:
        """Returns True when a call of a tool may have to wait for a person: its definition or a rule can demand one."""
        if entry.approval_from or entry.tool.facts.requires_user_interaction:
            return True
        if self._engine is None or _build_refusal(entry) is not None:
            return False
        try:
            fixed = self._engine.program(entry, self._surface.request).fixed
        except FerruleError:  # a broken policy allows nothing, so nobody is asked
            return False
        return fixed is None or fixed.behavior == "ask"

    def _choose_turn(self, claim: Claim | None) -> Turn:
        if claim is not None and self._lane.may_slip_alone(claim):
            return "alone"
        return "beside" if claim is not None and self._lane.may_slip(claim) else "in_line"

    def _refuse_unchosen(self, entry: SurfaceEntry) -> Stop | None:
        """Refuses the tools of an agent with `tool_choice: none`, which lists tools and calls none (AML-90)."""
        if self._surface.tool_choice != "none" or entry.tool.dialect == "ferrule":
            return None
        message = f"tool {entry.tool.name!r} is shown only: tool_choice of this agent is none, so it calls no tools"
        return Stop("policy_blocked", message, "tool_choice_none", state="blocked")

    def _is_limited(self, entry: SurfaceEntry) -> bool:
        return entry.max_calls_per_run is not None or self._surface.max_tool_calls is not None

    def _build_claim(self, tool: Tool, traits: ToolTraits, locks: LockPlan, *, is_exclusive: bool) -> Claim | None:
        """Builds the scheduler's claim; None when it depends on a call's input."""
        if traits.has_expressions or not locks.is_fixed:
            return None
        return build_claim(
            tool.tool_id,
            tool.facts,
            locks,
            {},
            principal=principal_key(self._surface.request),
            requires_exclusive_context=is_exclusive,
        )

    def _describe_scheduling(self, claim: Claim | None, said: JsonObject) -> tuple[object, ...]:
        """Describes the scheduling for the header; empty where it is the default."""
        policy = stricter(_read_modifier_policy(said), self._lane.policy.context_modifier_policy)
        told = (
            claim is not None and claim.requires_exclusive_context,
            policy,
            claim.locks if claim is not None else (),
        )
        return () if told == (False, DEFAULT_POLICY.context_modifier_policy, ()) else told

    def _prepare_runner(self, tool: Tool) -> tuple[Run | None, Stop | None, Support]:
        executor = self._executor_of(tool)
        if executor is None:
            what = f"no executor here runs {tool.tool_kind} tools of this kind"
            return None, Stop("capability_gap", f"tool {tool.tool_id!r} cannot run in this process: {what}"), Support()
        try:
            run = executor.prepare(tool)
        except ExecutionFailed as failed:
            told = describe_failure(failed, f"tool {tool.tool_id!r}")
            return None, Stop(failed.error_class, told, failed.code), Support()
        return run, None, getattr(run, "support", None) or executor.support or Support()

    def _build_header(
        self,
        tool_id: str,
        name: str,
        entry: SurfaceEntry | None = None,
        traits: ToolTraits | None = None,
        ruling: Ruling | None = None,
        scheduling: tuple[object, ...] = (),
    ) -> msgspec.Raw:
        surface, request = self._surface, self._surface.request
        header = Header(
            tool_id=tool_id,
            tool_name=name,
            tool_version=entry.tool.version if entry else None,
            tool_digest=entry.digest if entry else "",
            namespace=entry.tool.namespace if entry else "",
            surface_id=surface.surface_id,
            catalog_digest=surface.catalog_digest,
            policy_digest=self._engine.digest if self._engine is not None else "",
            principal=request.principal,
            agent=request.agent,
            channel=request.channel,
            tenant=request.tenant,
            run_id=request.run_id,
            dialect=entry.tool.dialect if entry else "",
            is_read_only=bool(traits and traits.is_read_only),
            facts=traits.facts if traits else (),
            ruling=ruling,
            external_mappings=native_refs(entry.tool) if entry else (),
            audit_level=surface.audit_level,
            lifecycle=entry.tool.lifecycle if entry and entry.tool.lifecycle != "available" else "",
            scheduling=scheduling,
        )
        return msgspec.Raw(encode(header))


def _compile_schemas(tool: Tool, traits: ToolTraits) -> tuple[Arguments, Validator | None]:
    """Compiles the validators of arguments and output. With an unusable schema no call of the tool runs."""
    try:
        return Arguments.of(tool), traits.compile_output_validator(tool)
    except Exception as error:
        return UnusableArguments(tool, type(error).__name__), None


def _find_hooks(hooks: tuple[Hook, ...], tool: Tool) -> dict[str, tuple[Hook, ...]] | None:
    """Finds the hooks for a tool's calls; None when one of them raises: each call then asks it, and fails."""
    found: dict[str, tuple[Hook, ...]] = {}
    try:
        for hook in hooks:
            if hook.matches(tool.tool_id, tool.name):
                found[hook.event] = (*found.get(hook.event, ()), hook)
    except Exception:
        return None
    return found


def _find_idle_phases(
    hooks: Mapping[str, tuple[Hook, ...]] | None,
    *,
    is_loaded: bool,
    is_checked: bool,
    is_masked: bool,
    is_decided: bool,
) -> int:
    """Returns one bit for each phase that has nothing to do for calls without options."""
    if hooks is None:
        return 0
    idle = set() if is_checked else {"validate_values"}
    if is_loaded:
        idle.add("check_schema_loaded")
    if is_loaded and not is_checked and not is_masked:  # nothing can stop a call between phases 2 and 5
        idle.add("prepare_observable_input")
    if "pre_tool_use" not in hooks:
        idle.add("pre_hooks")
        if is_decided and "permission_decision" not in hooks:
            idle.add("permission")
        # Only without pre hooks: the phase also attaches the context that those add.
        if hooks.keys().isdisjoint(_POST_EVENTS):
            idle.add("post_hooks")
    return sum(1 << PHASES.index(name) for name in idle)


def _choose_in_place(run: Run | None, retry: RetryPolicy, *, wants_context: bool) -> InPlace:
    if getattr(run, "runs_in_place", False):
        return "always"
    if wants_context:
        return "never"
    return "from_first_step" if retry is NO_RETRIES else "without_deadline"


def _find_statement(payload: JsonObject, name: str) -> object:
    """Returns a statement of a definition, from itself or the records in it."""
    homes = (payload, *(payload.get(home) for home in ("tool_interface", "interface", "scheduler")))
    return next((home[name] for home in homes if isinstance(home, dict) and name in home), None)


def _read_modifier_policy(payload: JsonObject) -> ModifierPolicy | None:
    said = _find_statement(payload, "context_modifier_policy")
    return next((policy for policy in _MODIFIER_POLICIES if policy == said), None)


def _build_refusal(entry: SurfaceEntry) -> Stop | None:
    if entry.is_judged:
        return None
    if entry.standing in ("loaded", "deferred") and entry.reason in (None, "deferred_until_discovered"):
        return None
    reason = entry.reason or "policy_blocked"
    kind = BLOCK_CLASSES.get(reason, "policy_blocked")
    detail = entry.detail or f"it is held back here ({reason})"
    state: State | None = None if kind == "schema_not_loaded" else "blocked"
    return Stop(kind, f"tool {entry.tool.name!r} cannot be called: {detail}", reason, state=state)
