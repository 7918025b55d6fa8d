"""Previews calls: what would happen if this caller called this tool with these arguments.

`preview_tool` answers for every call of a tool, `preview_call` for one, `preview_arguments` for arguments as they come over
a wire. Lists, `policy explain`, tables of cases, `POST /v1/checks` and the console all ask here.
Nothing is called, recorded or changed. It leaves out what only a real call shows: the tool's own preflight, hooks, limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any, Literal, get_args

import msgspec

from ferrule.contracts.policy import Classifier, JudgedCall, PolicyEngine, PolicyProgram
from ferrule.model.decision import Ruling
from ferrule.model.failure import Stop
from ferrule.model.surface import SurfaceEntry, SurfaceRequest
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.complaints import Complaint
from ferrule.runtime.pipeline.arguments.validation import ParsedArguments
from ferrule.runtime.pipeline.phases.check_schema_loaded import build_not_loaded
from ferrule.runtime.pipeline.prepared import Prepared
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.facts import compute_call_facts
from ferrule.runtime.policy.program import RuleProgram
from ferrule.runtime.redaction.redactor import ONLY_GIVEN

Verdict = Literal["allow", "ask", "depends", "deny", "blocked"]
"""`allow`, `ask` and `deny` are what the policy decides. `depends`: it decides each call by itself. `blocked`: the call ends
before the policy is asked, because of a switch, a role, a credential, or its arguments."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_ASKING = {
    "tool": "its definition",
    "role": "the role",
    "agent": "the agent's file",
    "policy": "the agent's policy",
    "confirmation": "the agent's list of tools to confirm",
}
_MOST_COMPLAINTS = 50
_OWN_WORDS = frozenset({"rule", "mode", "policy"})
"""Reasons in words of the policy's own, which quote no argument."""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The expected outcome of a call, or of every call of a tool."""

    verdict: Verdict
    why: str
    """The reason, for people."""
    ruling: Ruling | None = None
    """The policy's ruling; None where it is not asked, and where that depends on the call."""
    stop: Stop | None = None
    """How a call would end before the policy is asked; None where it would not, or where no caller was looked at."""
    complaints: tuple[Complaint, ...] = ()
    """The problems of single arguments."""
    changed_fields: tuple[str, ...] = ()
    """Arguments that would be corrected or filled in."""
    judged: JudgedCall | None = None
    """The input of the policy; None where no arguments are known."""
    failures: tuple[str, ...] = ()
    """Facts that could not be computed."""


def preview_tool(entry: SurfaceEntry, request: SurfaceRequest, engine: PolicyEngine) -> Preview:
    """Previews every call of a tool, with any arguments."""
    return _preview_program(entry, lambda: engine.program(entry, request))[0]


async def preview_call(
    entry: SurfaceEntry,
    request: SurfaceRequest,
    engine: PolicyEngine,
    arguments: JsonObject,
    *,
    now: int = 0,
    classifiers: Mapping[str, Classifier] = BUILTIN,
) -> Preview:
    """Previews one call of a tool, with arguments that match its schema."""
    return await _preview_call(entry, lambda: engine.program(entry, request), arguments, now, classifiers)


async def preview_arguments(session: Session, services: Services, name: str, raw: bytes) -> Preview:
    """Previews a call by name, with arguments as unchecked JSON."""
    prepared = session.prepared.get(name) or session.find(name)
    if prepared.refusal is not None:
        return _make_blocked(prepared.refusal)
    if not prepared.is_loaded or prepared.arguments is None:
        return _make_blocked(build_not_loaded(prepared, name))
    parsed = prepared.arguments.parse(raw)
    if not isinstance(parsed, ParsedArguments):
        stop = Stop("schema_validation_failed", parsed.message, parsed.code)
        return _make_blocked(stop, complaints=tuple(prepared.arguments.list_misfits(raw, _MOST_COMPLAINTS)))
    changed = tuple(dict.fromkeys(field for change in parsed.changes for field in change.changed_fields))
    if prepared.unready is not None:
        return _make_blocked(prepared.unready, changed_fields=changed)
    entry, program = prepared.require_entry(), prepared.require_program()
    # A copy: a classifier is foreign code and may change what it is given.
    copy = msgspec.json.decode(msgspec.json.encode(parsed.arguments))
    found = await _preview_call(entry, lambda: program, copy, services.now(), services.classifiers)
    return msgspec.structs.replace(_without_secrets(found, prepared, services, copy), changed_fields=changed)


async def _preview_call(
    entry: SurfaceEntry,
    program_of: Callable[[], PolicyProgram],
    arguments: JsonObject,
    now: int,
    classifiers: Mapping[str, Classifier],
) -> Preview:
    always, program = _preview_program(entry, program_of)
    facts, failures = compute_call_facts(entry.tool, arguments, classifiers)
    judged = JudgedCall(arguments, facts, now)
    if always.verdict != "depends" or program is None:
        return msgspec.structs.replace(always, judged=judged, failures=failures)
    try:
        said: Any = program.decide(judged)
        ruling: Ruling = await said if isawaitable(said) else said
    except Exception as error:  # a policy that fails denies, as in a call
        ruling = _make_refusal(error)
    return _make_preview(ruling, judged, failures)


def _preview_program(
    entry: SurfaceEntry, program_of: Callable[[], PolicyProgram]
) -> tuple[Preview, PolicyProgram | None]:
    """Returns the preview of every call, and the program that decides single calls where they differ."""
    # A tool that the policy itself holds back goes on: its answer is the policy's.
    if not entry.is_visible and not entry.is_judged:
        return Preview(verdict="blocked", why=entry.detail or str(entry.reason or "")), None
    try:
        program = program_of()
    except Exception as error:
        return _make_preview(_make_refusal(error)), None
    if program.fixed is not None:
        return _make_preview(program.fixed), program
    return Preview(verdict="depends", why=_describe_dependence(program, entry)), program


def _make_preview(ruling: Ruling, judged: JudgedCall | None = None, failures: tuple[str, ...] = ()) -> Preview:
    # A ruling that neither allows nor denies asks a person, as in a call.
    verdict: Verdict = ruling.behavior if ruling.behavior in ("allow", "deny") else "ask"
    return Preview(verdict=verdict, why=ruling.message, ruling=ruling, judged=judged, failures=failures)


def _make_blocked(stop: Stop, **more: Any) -> Preview:
    return Preview(verdict="blocked", why=stop.message, stop=stop, **more)


def _make_refusal(error: Exception) -> Ruling:
    kind = type(error).__name__
    return Ruling("deny", f"the policy failed to decide ({kind}), so the answer is no", "safety_check")


def _describe_dependence(program: PolicyProgram, entry: SurfaceEntry) -> str:
    """Describes which rules look at each call, and who wants a person to approve."""
    rules = program.conditional_rules if isinstance(program, RuleProgram) else ()
    verb = "looks" if len(rules) == 1 else "look"
    what = f"{', '.join(rules)} {verb} at each call" if rules else "each call is judged"
    asking = [_ASKING.get(each, each) for each in entry.approval_from]
    wants = "want" if len(asking) > 1 else "wants"
    return f"{what}; {' and '.join(asking)} {wants} a person to agree" if asking else what


def _without_secrets(found: Preview, prepared: Prepared, services: Services, arguments: object) -> Preview:
    """Removes secrets from reasons that are not the policy's own: classifiers quote arguments."""
    ruling = found.ruling
    if ruling is None or ruling.reason_type in _OWN_WORDS or prepared.fixed is not None:
        return found
    secrets = prepared.mask.list_values(arguments) if prepared.mask is not None else frozenset()
    told = (services.redactor or ONLY_GIVEN).value(ruling.message, secrets)[0]
    return msgspec.structs.replace(found, why=told, ruling=msgspec.structs.replace(ruling, message=told))
