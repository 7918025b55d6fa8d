"""Checks if tools would work, without calling one: definition, executor, credentials, address, upstream, in that order.

Tools are checked side by side, each with its timeout. An unreachable system behind several tools is waited for once. It
records nothing, and its messages are redacted. It does not know how findings are shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ferrule.app.app import App
from ferrule.app.preview.preview import Preview, Verdict, preview_tool
from ferrule.contracts.executor import Context, ExecutionFailed, Executor
from ferrule.contracts.surface import CatalogEntry
from ferrule.infra.drivers import describe_failure
from ferrule.model.surface import DEFAULT_TENANT, Surface, SurfaceRequest
from ferrule.model.tool import Tool
from ferrule.model.upstreams import McpProgram
from ferrule.runtime.executors.transports import transport_of
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.surface.availability import list_credential_names, read_availability

Health = Literal["works", "unproven", "warned", "broken", "off"]
"""`works`: its probe succeeded. `unproven`: no problem, and nothing to probe. `warned`: it works, with a problem to fix. `off`:
not in use, by definition or by `ferrule disable`."""


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a doctor's report."""

    name: str
    """The tool's id; for the workspace, the name of the check."""
    kind: str
    """How the tool is reached: its transport, `function`, `shell`, `builtin`; `workspace` for the rest."""
    health: Health
    told: str
    """The finding: the cause, and what to do. One line, no secret."""
    code: str = ""
    """The error code of a problem."""
    milliseconds: float = 0.0
    """The duration of the check."""
    verdict: Verdict | None = None
    """The verdict on a call by the principal; None for checks of the workspace."""


_TOGETHER = 8
_GRACE_SECONDS = 0.5
"""A probe that knows its deadline reports a timeout better than we can, so it gets a little longer."""
_SHARED = frozenset({"dependency_unavailable", "timeout", "rate_limited"})
"""Failures that every tool behind the same system shares."""
_OFF = {"disabled": "its definition disables it", "retired": "it is retired", "draft": "its definition is a draft"}
_ENDS: dict[Verdict, str] = {"deny": "denied", "blocked": "blocked"}
_MESSAGES = ("message", "error", "text", "detail")
_LONGEST_WORDS = 160
_REQUIRING = frozenset({"oxp", "oxp_server"})
"""Dialects whose tools name requirements that only the settings explain."""

OnProgress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""

NO_PROGRAMS: Mapping[str, McpProgram] = {}


class _UpstreamState(msgspec.Struct):
    """The state of one system behind tools."""

    lock: asyncio.Lock
    answers: bool = False
    failed: ExecutionFailed | None = None
    tool_id: str = ""


class Doctor:
    """Examines the tools of an open app."""

    def __init__(
        self,
        app: App,
        *,
        principal: str,
        seconds: float,
        off: Collection[str] = (),
        tenant: str = DEFAULT_TENANT,
        programs: Mapping[str, McpProgram] = NO_PROGRAMS,
    ) -> None:
        """`principal`: for whom the tools should work. `seconds`: for each tool. `off`: the ids that are disabled. `programs`: of
        `[mcp.programs]`."""
        self._programs = programs
        self._app = app
        self._principal = principal
        self._tenant = tenant
        self._seconds = seconds
        self._off = frozenset(off)
        self._places = asyncio.Semaphore(_TOGETHER)
        self._upstreams: dict[tuple[str, str], _UpstreamState] = {}

    async def examine(
        self, tools: Sequence[CatalogEntry], told: OnProgress = lambda done, total: None
    ) -> list[Examination]:
        """Examines each tool, and returns the findings in their order."""
        done, surface = (
            0,
            await self._app.preview(SurfaceRequest(principal=self._principal, channel="doctor", tenant=self._tenant)),
        )

        async def one(listed: CatalogEntry) -> Examination:
            nonlocal done
            async with self._places:
                found = await self._examine_tool(listed.tool, surface)
            done += 1
            told(done, len(tools))
            return found

        return list(await asyncio.gather(*map(one, tools)))

    async def _examine_tool(self, tool: Tool, surface: Surface) -> Examination:
        began = time.perf_counter()
        kind = kind_of(tool, self._app.find_executor(tool))
        code = ""
        health: Health = "broken"
        try:
            health, words = await self._diagnose(tool, kind)
        except ExecutionFailed as failed:
            words, code = _describe_cause(tool, failed), failed.code or failed.error_class
        except Exception as error:  # one broken part must not hide what is wrong with the others
            words, code = f"its executor failed with {type(error).__name__}", "executor_broken"
        took = round((time.perf_counter() - began) * 1000, 1)
        found = self._preview(tool, surface)
        if health in ("works", "unproven", "warned") and found is not None and found.verdict in ("deny", "blocked"):
            words = f"{words}; a call for {self._principal!r} is {_ENDS[found.verdict]}: {found.why}"
        return Examination(
            name=tool.tool_id,
            kind=kind,
            health=health,
            told=self._redact_line(words),
            code=code,
            milliseconds=took,
            verdict=None if found is None else found.verdict,
        )

    def _preview(self, tool: Tool, surface: Surface) -> Preview | None:
        """Previews a call of the tool, by the code that all previews use."""
        entry = surface.entries.get(tool.tool_id)
        return None if entry is None else preview_tool(entry, surface.request, self._app.policy)

    async def _diagnose(self, tool: Tool, kind: str) -> tuple[Health, str]:
        """Returns the health of a tool and a message. Raises ExecutionFailed with the problem."""
        if tool.tool_id in self._off:
            return "off", f"it was disabled; 'ferrule enable {tool.name}' turns it on"
        readiness = self._app.readiness
        if tool.lifecycle in _OFF and not (readiness is not None and readiness.is_switched_on(tool)):
            return "off", _OFF[tool.lifecycle]
        executor = self._app.find_executor(tool)
        lacking = self._describe_missing(tool)
        if executor is None:
            raise _make_unreachable(tool, lacking)
        if lacking:
            raise ExecutionFailed("credential_missing", lacking, code="credential_missing")
        run = executor.prepare(tool)
        probe = getattr(run, "probe", None)
        if probe is None:
            return "unproven", self._describe_unused_program(tool, kind) or _UNPROVEN.get(kind, _UNTRIED)
        return "works", await self._probe_shared(tool, run)

    def _describe_unused_program(self, tool: Tool, kind: str) -> str:
        """Describes a program that never runs because a function is bound to its tool; empty for none."""
        named = next((name for name, program in self._programs.items() if program.runs(tool.tool_id)), "")
        if kind != "function" or not named:
            return ""
        return (
            f"a function is bound to it, so [mcp.programs.{named}] does not run it; take the function away if it should"
        )

    def _describe_missing(self, tool: Tool) -> str:
        """Describes the credentials that are known to be missing; empty when none are."""
        readiness = self._app.readiness
        names = list_credential_names(tool, read_availability(tool))
        missing = readiness.missing_credentials(tool, names) if readiness is not None else ()
        shown = ", ".join(map(repr, sorted(missing)))
        return f"it needs {shown}, which is not set; {_advise_credentials(tool)}" if missing else ""

    async def _probe_shared(self, tool: Tool, run: object) -> str:
        upstream = getattr(run, "upstream", "")
        known = (
            self._upstreams.setdefault((type(run).__name__, upstream), _UpstreamState(asyncio.Lock()))
            if upstream
            else None
        )
        if known is None or known.answers:
            return await self._probe(run)
        async with known.lock:  # the first probe answers for all tools behind this system
            if known.failed is not None:
                raise _reword_failure(known.failed, known.tool_id, tool.tool_id)
            try:
                said = await self._probe(run)
            except ExecutionFailed as failed:
                if failed.error_class in _SHARED:
                    known.failed, known.tool_id = failed, tool.tool_id
                raise
            known.answers = True
            return said

    async def _probe(self, run: Any) -> str:
        loop = asyncio.get_running_loop()
        context = Context(
            "doctor", self._principal, None, self._tenant, deadline=loop.time() + self._seconds, run_id="doctor"
        )
        try:
            async with asyncio.timeout(self._seconds + _GRACE_SECONDS):
                said: str = await run.probe(context)
                return said
        except TimeoutError:
            raise ExecutionFailed(
                "timeout", f"nothing came back within {self._seconds:g} seconds; is it up, and reachable from here?"
            ) from None

    def _redact_line(self, words: str) -> str:
        """Returns a message as one line, without secrets."""
        redactor = self._app.services.redactor or ONLY_GIVEN
        told: str = redactor.value(" ".join(words.split()))[0]
        return told


def kind_of(tool: Tool, executor: Executor | None) -> str:
    """Returns how a tool is reached, in one word."""
    name = type(executor).__name__.removesuffix("Executor").lower() if executor is not None else ""
    if name == "transport" or executor is None:
        return transport_of(tool) or (tool.tool_kind if executor is None else "program")
    return name


_UNTRIED = "its executor has nothing that could be tried"
_UNPROVEN = {
    "function": "a function is bound to it; whether that works only a call can tell",
    "builtin": "it comes with Ferrule and needs nothing else",
}


def _make_unreachable(tool: Tool, lacking: str) -> ExecutionFailed:
    """Makes the failure of a tool without executor. A call would fail on the credentials first, so it names both."""
    also = f"; besides, {lacking}" if lacking else ""
    if tool.tool_kind == "function" or tool.dialect in ("oxp", "adl"):
        return ExecutionFailed(
            "setup_required",
            f"no function is bound to it; name one in [functions] bind, or write @ferrule.tool({tool.tool_id!r}) above it,"
            f" or name the program that runs it in [mcp.programs]{also}",
            code="function_unbound",
        )
    return ExecutionFailed(
        "capability_gap", f"nothing here runs tools of kind {tool.tool_kind!r}; install an executor for it{also}"
    )


def _advise_credentials(tool: Tool) -> str:
    if tool.dialect in _REQUIRING:
        return (
            "say where secrets are in [secrets.bindings] and set them there, and who gives tokens in [oauth.ID]; callers over"
            " OXP may bring both"
        )
    return "set it in the environment or in .env"


def _describe_cause(tool: Tool, failed: ExecutionFailed) -> str:
    """Describes a failure with details for operators: the refused secret, and the other side's own message."""
    if failed.error_class == "credential_missing":
        unnamed = [name for name in list_credential_names(tool, read_availability(tool)) if name not in failed.message]
        return (
            f"{failed.message} ({', '.join(unnamed)})" if unnamed and tool.dialect not in _REQUIRING else failed.message
        )
    message = describe_failure(failed, f"tool {tool.tool_id!r}")
    said = _find_message(failed.output.value) if failed.output is not None else ""
    return f"{message}: {said[:_LONGEST_WORDS]}" if said and said not in message else message


def _find_message(value: object) -> str:
    """Finds the first text that looks like a message in the output of a failing system."""
    if isinstance(value, dict):
        return next((words for key in _MESSAGES if (words := _find_message(value.get(key)))), "")
    return value if isinstance(value, str) else ""


def _reword_failure(failed: ExecutionFailed, of: str, tool_id: str) -> ExecutionFailed:
    """Returns the failure of another tool behind the same system, with this tool's name."""
    message = failed.message.replace(repr(of), repr(tool_id))
    return ExecutionFailed(failed.error_class, message, code=failed.code, output=failed.output)
