"""Checks a call without making it: what its arguments lack, and what the policy would say to them.

It records nothing and runs nothing of the tool; the phases do the same with a call that is made. It leaves out what only
shows then: the tool's own preflight, hooks, limits of a run.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

import msgspec

from ferrule.contracts.policy import Judged
from ferrule.model.decision import Ruling
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.arguments.complaints import Complaint
from ferrule.runtime.pipeline.arguments.validation import Parsed
from ferrule.runtime.pipeline.phases.check_schema_loaded import not_loaded
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Prepared, Session
from ferrule.runtime.redaction.redactor import ONLY_GIVEN

_MOST = 50
_OURS = frozenset({"rule", "mode", "policy"})
"""Reasons in words of the policy's own."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of a call."""

    stop: Stop | None = None
    """Why it would be refused before the policy is asked; None: it would not."""
    complaints: tuple[Complaint, ...] = ()
    """What is wrong with which argument."""
    changed_fields: tuple[str, ...] = ()
    """Arguments that would be mended or filled in."""
    ruling: Ruling | None = None
    """What the policy says; None where it would not be asked."""


async def check_call(session: Session, services: Services, name: str, raw: bytes) -> Checked:
    """Look at a call of a tool with these arguments, as JSON, without making it."""
    prepared = session.prepared.get(name) or session.find(name)
    if prepared.refusal is not None:
        return Checked(stop=prepared.refusal)
    if not prepared.is_loaded or prepared.arguments is None:
        return Checked(stop=not_loaded(prepared, name))
    parsed = prepared.arguments.parse(raw)
    if not isinstance(parsed, Parsed):
        stop = Stop("schema_validation_failed", parsed.message, parsed.code)
        return Checked(stop=stop, complaints=tuple(prepared.arguments.misfits(raw, _MOST)))
    changed = tuple(dict.fromkeys(field for change in parsed.changes for field in change.changed_fields))
    if prepared.unready is not None:
        return Checked(stop=prepared.unready, changed_fields=changed)
    return Checked(changed_fields=changed, ruling=await _ruling(prepared, services, parsed.arguments))


async def _ruling(prepared: Prepared, services: Services, arguments: Any) -> Ruling:
    if prepared.fixed is not None:
        return prepared.fixed
    assert prepared.entry is not None and prepared.program is not None  # it was found
    copy = msgspec.json.decode(msgspec.json.encode(arguments))
    facts, _ = services.call_facts(prepared.entry.tool, copy, services.classifiers)
    try:
        said: Any = prepared.program.decide(Judged(copy, facts, services.now()))
        ruling: Ruling = await said if isawaitable(said) else said
    except Exception as error:
        kind = type(error).__name__
        return Ruling("deny", f"the policy failed to decide ({kind}), so the answer is no", "safety_check")
    return ruling if ruling.reason_type in _OURS else _clean(prepared, services, arguments, ruling)


def _clean(prepared: Prepared, services: Services, arguments: Any, ruling: Ruling) -> Ruling:
    """Whatever others had a word in is told without what is secret."""
    secrets = prepared.mask.values(arguments) if prepared.mask is not None else frozenset()
    told = (services.redactor or ONLY_GIVEN).value(ruling.message, secrets)[0]
    return msgspec.structs.replace(ruling, message=told)
