"""What a definition says about the task a person gets: keys of our own, in `transport` or at the top, beginning with `x-`."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.tool import Tool
from ferrule.model.upstreams import HumanUpstreams

_PLACE = re.compile(r"\{([^{}]+)\}")
_LONGEST_MEMBER = 300


class TaskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whose task it is, and for how long."""

    assignees: tuple[str, ...] | str = msgspec.field(name="x-assignees", default=())
    """People, and groups as `group:finance`; nobody named: anybody with the approve scope."""
    message: str = msgspec.field(name="x-message", default="")
    """What the person reads; `{member}` stands for a member of the input, as people may see it."""
    expires_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = msgspec.field(name="x-expires-seconds", default=None)
    """How long it waits; `[human] expires_seconds` when not said."""
    remind_seconds: Annotated[int, msgspec.Meta(ge=0)] | None = msgspec.field(name="x-remind-seconds", default=None)
    """After how long people are told again, and again; 0 for never, `[human] remind_seconds` when not said."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The task of one tool, with everything said."""

    title: str
    assignees: tuple[str, ...]
    message: str
    expires_seconds: int
    remind_seconds: int
    transport: str
    """The type of the transport that tells of it."""
    answer_schema: dict[str, Any]

    def question(self, shown: Any) -> str:
        """What the person reads about one call."""
        members = shown if isinstance(shown, dict) else {}
        return _PLACE.sub(lambda found: _said(found[0], found[1], members), self.message)


class _Definition(msgspec.Struct):
    transport: dict[str, Any] = {}


def read_task(tool: Tool, upstream: HumanUpstreams) -> Task:
    """The task of a tool's definition. Raises ExecutionFailed (`setup_required`)."""
    try:
        top = msgspec.json.decode(tool.payload, type=dict[str, Any])
        transport = msgspec.convert(top, _Definition).transport
        said = msgspec.convert({**top, **transport}, TaskSettings)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise ExecutionFailed("setup_required", f"the task of {tool.tool_id!r} cannot be used: {error}") from None
    assignees = (said.assignees,) if isinstance(said.assignees, str) else said.assignees
    if any(not name.strip() or name != name.strip() or name == "group:" for name in assignees):
        raise ExecutionFailed(
            "setup_required", f"x-assignees of {tool.tool_id!r} must be names of people, or of groups as 'group:NAME'"
        )
    title = tool.title or tool.name
    return Task(
        title=title,
        assignees=tuple(dict.fromkeys(assignees)),
        message=said.message or f"{title}: a person has to answer",
        expires_seconds=said.expires_seconds or upstream.expires_seconds,
        remind_seconds=upstream.remind_seconds if said.remind_seconds is None else said.remind_seconds,
        transport=str(transport.get("type", "")),
        answer_schema=_schema(tool),
    )


def _schema(tool: Tool) -> dict[str, Any]:
    schema = msgspec.json.decode(tool.output_schema) if tool.output_schema is not None else {}
    return schema if isinstance(schema, dict) else {}


def _said(place: str, name: str, members: dict[str, Any]) -> str:
    if name not in members:
        return place
    value = members[name]
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_MEMBER else f"{text[:_LONGEST_MEMBER]}…"
