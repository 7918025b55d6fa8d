"""The questions a task asks its client, and the answers so far. Answers may arrive one by one; each is sealed in the
ledger before it is acknowledged, and the tool resumes with the last one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.store import CommitCondition
from ferrule.model.client_requests import feature_of
from ferrule.model.journal import Entry, NewsBody, Payload, StoredEntry, header_of
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.services import Services
from ferrule.schema.validation.validators import compile_schema, first_error

_GIVEN = "input_given"
_ACTIONS = ("accept", "decline", "cancel")


class ClientQuestions(NamedTuple):
    """The questions a call waits with."""

    requests: dict[str, JsonObject]
    """By the key a client sees, which no earlier round of this task used (MCP-250)."""
    names: dict[str, str]
    """The tool's own key of each."""
    round: int
    """The sequence number of the row that asks."""


def find_questions(rows: Sequence[StoredEntry]) -> ClientQuestions | None:
    """Returns the questions a call asks its client now; None when it asks nothing."""
    if not rows or rows[-1].kind != "parked":
        return None
    used: set[str] = set()
    requests: dict[str, JsonObject] = {}
    names: dict[str, str] = {}
    for number, row in enumerate(row for row in rows if row.kind == "parked"):
        requests, names = {}, {}
        for name, request in row.segment().notes.get("client_requests", {}).items():
            key = name if number == 0 else f"{name}.{number + 1}"
            # A tool's own key may end like one of our numbers.
            while key in used:
                key += "."
            requests[key], names[key] = request, name
        used |= requests.keys()
    return ClientQuestions(requests, names, rows[-1].seq) if requests else None


async def read_answers(services: Services, call: str, asked: ClientQuestions) -> JsonObject:
    """Returns the stored answers by the client's keys. Raises ValueError for one that was tampered with."""
    found: JsonObject = {}
    for row in await services.store.news_of(call, asked.round):
        payload = row.inputs() if row.outcome == _GIVEN else None
        if payload is not None and payload.text is not None:
            # What is there already wins: a question is answered once, however often its client sends an answer.
            found = {**msgspec.json.decode(services.sealing.open(call, payload.text)), **found}
    return found


async def store_answers(
    services: Services, call: str, rows: Sequence[StoredEntry], asked: ClientQuestions, given: JsonObject
) -> bool:
    """Writes answers to the ledger, durably. Returns False when the call no longer asks for them."""
    first, now = rows[0], services.now()
    happened = [{"at": now, "event": f"tool.invocation.{_GIVEN}", "data": {"keys": sorted(given)}}]
    body = NewsBody(happened, audit_level=header_of(first.segment()).audit_level)
    payload = Payload(text=services.sealing.seal(call, msgspec.json.encode(given)))
    entry = Entry("news", call, now, first.tool, _GIVEN, body, payload)
    # Written only in this very round: late answers must not count for the next question.
    condition = CommitCondition(states=frozenset({"needs_input"}), seq=asked.round)
    return (await services.store.commit(entry, condition)).outcome == "written"


async def resume_with_answers(
    surface: SurfaceHandle, app: App, call: str, asked: ClientQuestions, given: JsonObject
) -> None:
    """Resumes a tool that has all its answers. They are durable when this returns; the tool itself is not awaited."""
    whole = {name: given[key] for key, name in asked.names.items()}
    if await surface.answer(call, whole, resume=False) is not None:
        app.services.live.spawn(app.calls.resume(call))


def why_unusable(request: JsonObject, answer: object) -> str | None:
    """Returns why a value is no answer to a request; None when it is one (MCP-211, MCP-222)."""
    if not isinstance(answer, dict):
        return "it is no object"
    match feature_of(request):
        case "elicitation" | "elicitation.url" as feature:
            if answer.get("action") not in _ACTIONS:
                return "its action is none of accept, decline, cancel"
            if feature == "elicitation" and answer["action"] == "accept":
                return _why_unfit(request.get("params", {}).get("requestedSchema"), answer.get("content"))
        case "sampling" | "sampling.tools":
            if "content" not in answer or not isinstance(answer.get("role"), str):
                return "it is no message of a model"
        case "roots":
            if not isinstance(answer.get("roots"), list):
                return "it has no roots"
    return None


def _why_unfit(schema: object, content: object) -> str | None:
    if not isinstance(content, dict):
        return "its content is no object"
    if not isinstance(schema, dict):
        return None
    wrong = first_error(compile_schema(msgspec.json.encode(schema)), content)
    return None if wrong is None else f"its content does not fit the form: {wrong.message}"
