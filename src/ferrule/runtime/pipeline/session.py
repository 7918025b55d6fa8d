"""One surface in use: its tools prepared for calling, and the counts of its run.

Preparing a tool (validator, runner, policy program, row header) happens once per surface, so that a call is look-ups.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Executor, Run, Support
from ferrule.contracts.hook import Hook
from ferrule.contracts.policy import PolicyEngine, Program
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
from ferrule.runtime.pipeline.arguments.validation import Arguments, Unusable
from ferrule.runtime.pipeline.call_parts import ReadTooEarly
from ferrule.runtime.pipeline.locks import NO_LOCKS, LockPlan, claim_of, lock_plan
from ferrule.runtime.pipeline.retries import retry_policy_of
from ferrule.runtime.pipeline.tool_facts import ToolTraits, traits_of
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.runtime.scheduler.scheduler import Lane, Scheduler

_LONGEST_NAME = 200
_FEW = 500
"""Among more names nobody looks for the nearest one: comparing takes time, and names come from callers."""

DEFAULT_RETRIES = RetrySettings()
_AFTER = frozenset({"post_tool_use", "post_tool_use_failure"})
"""Events that come after the tool."""

FindExecutor = Callable[[Tool], Executor | None]
"""The executor that can run a tool in this process."""


InPlace = Literal["always", "without_deadline", "from_first_step", "never"]


class Route(msgspec.Struct, frozen=True, gc=False):
    """How calls of one tool travel. It is chosen once, when the tool is prepared."""

    idle: int = 0
    """One bit for each phase that has nothing to do for a call without options: they are left out."""
    turn: Literal["in_line", "beside", "alone"] = "in_line"
    """How a call gets its turn: from the lane, or without a place in it where nothing is in the way (`beside` others, or
    `alone`). Only calls that read, and that nobody counts, do without."""
    in_place: InPlace = "never"
    """When its runner is awaited in the call's own task. Only one that reads and stops when it is told to: `always` where it
    keeps to its deadline itself; `from_first_step` where, without a deadline, nobody has to see that it runs until it waits."""


class Prepared(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One tool of one surface, ready to be called."""

    entry: SurfaceEntry | None
    """None for a name that leads nowhere."""
    header: msgspec.Raw
    tool_id: str
    refusal: Stop | None = None
    """Why it cannot be called from here at all."""
    is_loaded: bool = True
    arguments: Arguments | None = None
    mask: Mask | None = None
    """None when nothing in its input is sensitive."""
    run: Run | None = None
    wants_context: bool = True
    """False when the runner says that it never looks at its context."""
    unready: Stop | None = None
    """Why it could not be run although it may be called: no executor, no set-up."""
    preflight: Callable[[dict[str, Any]], Any] | None = None
    program: Program | None = None
    fixed: Ruling | None = None
    """The ruling that holds whatever the arguments are."""
    told_by_header: Ruling | None = None
    """An allow that every row of this tool carries in its header already."""
    traits: ToolTraits = ToolTraits()
    validates_output: Any = None
    """The output schema's validator, where there is a schema."""
    support: Support = Support()
    """What its runner can do."""
    upstream: str = ""
    """The system behind it, which is left alone when it fails again and again; the tool itself where its runner names none."""
    is_repeatable: bool = False
    """True when another attempt cannot do something twice: it only reads, or its definition or its runner says so."""
    claim: Claim | None = None
    """What the scheduler wants to know, where it is the same for every call; None: it depends on the input."""
    locks: LockPlan = NO_LOCKS
    is_exclusive: bool = False
    """True when its definition wants every call to run alone."""
    modifier_policy: ModifierPolicy | None = None
    """What its definition says about context modifiers."""
    retry: RetryPolicy = NO_RETRIES
    route: Route = Route()
    hooks: Mapping[str, tuple[Hook, ...]] | None = None
    """The hooks that want to see its calls, by their events, in order; None when they have to be asked for every call."""

    def require_entry(self) -> SurfaceEntry:
        """The tool as the surface has it: `resolve_tool` stops a call of a name that leads nowhere."""
        if self.entry is None:
            raise ReadTooEarly("tool", "resolve_tool")
        return self.entry

    def require_arguments(self) -> Arguments:
        """What judges its arguments: `resolve_tool` stops a call of a tool that is refused."""
        if self.arguments is None:
            raise ReadTooEarly("schema of the arguments", "resolve_tool")
        return self.arguments

    def require_program(self) -> Program:
        """What decides on its calls; the same."""
        if self.program is None:
            raise ReadTooEarly("policy program", "resolve_tool")
        return self.program

    def require_claim(self) -> Claim:
        """What the scheduler wants to know of a tool whose calls all want the same."""
        if self.claim is None:
            raise ReadTooEarly("claim", "schedule")
        return self.claim


UNRESOLVED = Prepared(entry=None, header=msgspec.Raw(b"\xc0"), tool_id="")
"""The tool of a call before `resolve_tool`."""


class Session:
    """One surface in use."""

    __slots__ = (
        "_counts",
        "_engine",
        "_executor_of",
        "_handle",
        "_hooks",
        "_is_known",
        "_opened",
        "_retries",
        "_told",
        "generation",
        "lane",
        "prepared",
        "stamp",
        "surface",
        "values",
        "views",
    )

    def __init__(
        self,
        surface: Surface,
        engine: PolicyEngine | None,
        executor_of: FindExecutor,
        generation: int = 0,
        is_known: Callable[[str], bool] = lambda name: False,
        *,
        hooks: tuple[Hook, ...] = (),
        lane: Lane | None = None,
        retries: RetrySettings = DEFAULT_RETRIES,
        told: Callable[[str], str] = str,
    ) -> None:
        """`told`: takes out of a text what must not be told."""
        self.surface = surface
        self.lane = lane or Scheduler().lane("")
        """Who runs beside whom."""
        self.values: dict[str, Any] = {}
        """The context that tools of this run may change (`context_modifiers.py`)."""
        self.views: dict[str, Any] = {}
        """What servers made of the surface, to show it; it lasts as long as the session."""
        self._retries = retries
        self.generation = generation
        self.prepared: dict[str, Prepared] = {}
        self.stamp: Any = None
        """What it was made from: another stamp means another session is due."""
        self._handle: weakref.ref[Any] | None = None
        self._opened: Callable[[Session], Any] | None = None
        self._engine = engine
        self._executor_of = executor_of
        self._is_known = is_known
        self._hooks = hooks
        self._told = told
        self._counts: dict[str, int] = {}

    @property
    def handle(self) -> Any:
        """What a tool that works on the surface itself gets to see (tool search); None where nobody can have one."""
        found = self._handle() if self._handle is not None else None
        return self._opened(self) if found is None and self._opened is not None else found

    def held_by(self, handle: Any, opened: Callable[[Session], Any]) -> None:
        """Who holds it. It is not held in turn: a surface that nobody uses any more goes at once, not when garbage is looked for.
        `opened`: makes another handle, for a call that outlives its own."""
        self._handle, self._opened = weakref.ref(handle), opened

    def find(self, name: str) -> Prepared:
        """The tool of that name, prepared. A name that leads nowhere gives a refusal, which is not kept."""
        entry = self.surface.find(name)
        if entry is None:
            return self.nowhere(name)
        prepared = self._prepare(name, entry)
        self.prepared[name] = prepared
        return prepared

    def adopt_counts(self, other: Session) -> None:
        """Go on counting where another session of the same run was."""
        self._counts = other._counts
        self.values = other.values

    def take(self, tool_id: str, limit: int | None, total_limit: int | None) -> str | None:
        """Count one more call of the run; gives what is used up instead, if something is: the tool's id, or `*`."""
        used = self._counts.get(tool_id, 0)
        if limit is not None and used >= limit:
            return tool_id
        total = self._counts.get("*", 0)
        if total_limit is not None and total >= total_limit:
            return "*"
        self._counts[tool_id], self._counts["*"] = used + 1, total + 1
        return None

    def may_ask(self, entry: SurfaceEntry) -> bool:
        """True when a call of a tool may have to wait for a person: its definition, or some rule, can want one."""
        if entry.approval_from or entry.tool.facts.requires_user_interaction:
            return True
        if self._engine is None or _refusal(entry) is not None:
            return False
        try:
            fixed = self._engine.program(entry, self.surface.request).fixed
        except FerruleError:  # then nothing is allowed, and nobody is asked
            return False
        return fixed is None or fixed.behavior == "ask"

    def nowhere(self, name: str) -> Prepared:
        """The refusal of a name that leads nowhere (AT-91)."""
        name = self._told(str(name).encode("utf-8", "backslashreplace").decode())[:_LONGEST_NAME]  # on record
        tool_id = f"unknown:{name}"
        if self.surface.is_ambiguous(name):
            ids = ", ".join(self.surface.names[name])
            message = f"{name!r} means several tools here ({ids}); call one of them by its id"
            refusal = Stop("unknown_tool", message, "ambiguous_name")
        elif self._is_known(name):
            message = f"the tool {name!r} exists, but it is not on this surface; ask whoever owns the agent to add it"
            refusal = Stop("unknown_tool", message, "tool_not_surfaced")
        else:
            refusal = Stop(
                "unknown_tool", f"there is no tool {name!r} on this surface{self._hint(name)}", "tool_not_found"
            )
        return Prepared(entry=None, header=self._header(tool_id, name), tool_id=tool_id, refusal=refusal)

    def _hint(self, name: str) -> str:
        """What to try instead: the nearest name the caller may know of, or the search tool where there is one."""
        names = (word for word, ids in self.surface.names.items() if self.surface.entries[ids[0]].is_visible)
        hint = nearest(name, names) if len(self.surface.names) <= _FEW else None
        if hint:
            return f"; {hint}"
        return "; search_tools finds tools by what they do" if "search_tools" in self.surface.names else ""

    def _prepare(self, name: str, entry: SurfaceEntry) -> Prepared:
        tool = entry.tool
        traits = traits_of(entry)
        refusal = _refusal(entry) or self._unchosen(entry)
        if refusal is not None:
            header = self._header(tool.tool_id, name, entry, traits)
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
        program = self._engine.program(entry, self.surface.request)
        fixed = program.fixed if not traits.has_expressions else None
        in_header = fixed if fixed is not None and fixed.behavior == "allow" else None
        run, unready, support = self._runner(tool)
        said = _payload(tool)
        locks = lock_plan(said, tool.tool_id, self.lane.policy)
        claim = self._claim(tool, traits, locks, is_exclusive=_says(said, "requires_exclusive_context") is True)
        mask, preflight = Mask.of(tool), getattr(run, "preflight", None)
        hooks = _chosen(self._hooks, tool)
        retry = retry_policy_of(said, self._retries) if support.retries else NO_RETRIES
        wants_context = getattr(run, "wants_context", True)
        is_checked = preflight is not None or unready is not None
        is_uncounted_read = traits.is_read_only and not self._is_limited(entry)
        arguments, validates_output = _schemas(tool, traits)
        return Prepared(
            entry=entry,
            header=self._header(tool.tool_id, name, entry, traits, in_header, self._scheduling(claim, said)),
            tool_id=tool.tool_id,
            is_loaded=entry.standing == "loaded" or entry.is_judged,
            arguments=arguments,
            mask=mask,
            run=run,
            wants_context=wants_context,
            unready=unready,
            preflight=preflight,
            program=program,
            fixed=fixed,
            told_by_header=in_header,
            traits=traits,
            validates_output=validates_output,
            support=support,
            upstream=getattr(run, "upstream", "") or tool.tool_id,
            is_repeatable=traits.is_repeatable or getattr(run, "is_repeatable", False),
            claim=claim,
            locks=locks,
            is_exclusive=_says(said, "requires_exclusive_context") is True,
            modifier_policy=_modifier_policy(said),
            retry=retry,
            route=Route(
                _idle_phases(hooks, is_checked=is_checked, is_decided=in_header is not None),
                self._turn_of(claim) if is_uncounted_read else "in_line",
                _in_place(run, retry, wants_context=wants_context)
                if traits.is_read_only and support.cancel
                else "never",
            ),
            hooks=hooks,
        )

    def _turn_of(self, claim: Claim | None) -> Literal["in_line", "beside", "alone"]:
        if claim is not None and self.lane.may_slip_alone(claim):
            return "alone"
        return "beside" if claim is not None and self.lane.may_slip(claim) else "in_line"

    def _unchosen(self, entry: SurfaceEntry) -> Stop | None:
        """An agent with `tool_choice: none` shows its tools and calls none of them (AML-90)."""
        if self.surface.tool_choice != "none" or entry.tool.dialect == "ferrule":
            return None
        message = f"tool {entry.tool.name!r} is shown only: tool_choice of this agent is none, so it calls no tools"
        return Stop("policy_blocked", message, "tool_choice_none", state="blocked")

    def _is_limited(self, entry: SurfaceEntry) -> bool:
        return entry.max_calls_per_run is not None or self.surface.max_tool_calls is not None

    def _claim(self, tool: Tool, traits: ToolTraits, locks: LockPlan, *, is_exclusive: bool) -> Claim | None:
        """What the scheduler wants to know; None when that depends on a call's input."""
        if traits.has_expressions or not locks.is_fixed:
            return None
        return claim_of(
            tool.tool_id,
            tool.facts,
            locks,
            {},
            principal=principal_key(self.surface.request),
            requires_exclusive_context=is_exclusive,
        )

    def _scheduling(self, claim: Claim | None, said: dict[str, Any]) -> tuple[Any, ...]:
        """What the header tells of scheduling; nothing where it is as usual."""
        policy = stricter(_modifier_policy(said), self.lane.policy.context_modifier_policy)
        told = (
            claim is not None and claim.requires_exclusive_context,
            policy,
            claim.locks if claim is not None else (),
        )
        return () if told == (False, DEFAULT_POLICY.context_modifier_policy, ()) else told

    def _runner(self, tool: Tool) -> tuple[Run | None, Stop | None, Support]:
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

    def _header(
        self,
        tool_id: str,
        name: str,
        entry: SurfaceEntry | None = None,
        traits: ToolTraits | None = None,
        ruling: Ruling | None = None,
        scheduling: tuple[Any, ...] = (),
    ) -> msgspec.Raw:
        surface, request = self.surface, self.surface.request
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


def _schemas(tool: Tool, traits: ToolTraits) -> tuple[Arguments, Any]:
    """What judges a tool's arguments, and its output. Where one of its schemas cannot be used, no call of it runs."""
    try:
        return Arguments.of(tool), traits.output_validator(tool)
    except Exception as error:
        return Unusable(tool, type(error).__name__), None


def _chosen(hooks: tuple[Hook, ...], tool: Tool) -> dict[str, tuple[Hook, ...]] | None:
    """The hooks that want to see a tool's calls; None when one of them cannot say: each call finds out, and fails by it."""
    found: dict[str, tuple[Hook, ...]] = {}
    try:
        for hook in hooks:
            if hook.matches(tool.tool_id, tool.name):
                found[hook.event] = (*found.get(hook.event, ()), hook)
    except Exception:
        return None
    return found


def _idle_phases(hooks: Mapping[str, tuple[Hook, ...]] | None, *, is_checked: bool, is_decided: bool) -> int:
    """Says which phases have nothing to do for calls of a tool that say nothing but its arguments."""
    if hooks is None:
        return 0
    idle = set() if is_checked else {"validate_values"}
    if "pre_tool_use" not in hooks:
        idle.add("pre_hooks")
        if is_decided and "permission_decision" not in hooks:
            idle.add("permission")
        if hooks.keys().isdisjoint(_AFTER):
            idle.add("post_hooks")
    return sum(1 << PHASES.index(name) for name in idle)


def _in_place(run: Run | None, retry: RetryPolicy, *, wants_context: bool) -> InPlace:
    if getattr(run, "runs_in_place", False):
        return "always"
    if wants_context:
        return "never"
    return "from_first_step" if retry is NO_RETRIES else "without_deadline"


def _payload(tool: Tool) -> dict[str, Any]:
    try:
        payload = msgspec.json.decode(tool.payload)
    except msgspec.DecodeError:
        return {}
    return payload if isinstance(payload, dict) else {}


def _says(payload: dict[str, Any], name: str) -> Any:
    """What a definition says, itself or in the records beside it."""
    homes = (payload, *(payload.get(home) for home in ("tool_interface", "interface", "scheduler")))
    return next((home[name] for home in homes if isinstance(home, dict) and name in home), None)


def _modifier_policy(payload: dict[str, Any]) -> ModifierPolicy | None:
    said = _says(payload, "context_modifier_policy")
    return said if said in get_args(ModifierPolicy) else None


def _refusal(entry: SurfaceEntry) -> Stop | None:
    if entry.is_judged:
        return None
    if entry.standing in ("loaded", "deferred") and entry.reason in (None, "deferred_until_discovered"):
        return None
    reason = entry.reason or "policy_blocked"
    kind = BLOCK_CLASSES.get(reason, "policy_blocked")
    detail = entry.detail or f"it is held back here ({reason})"
    state: State | None = None if kind == "schema_not_loaded" else "blocked"
    return Stop(kind, f"tool {entry.tool.name!r} cannot be called: {detail}", reason, state=state)
