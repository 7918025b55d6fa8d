"""Runs tools of type `human` (AML-21): a person does the work. The call waits, and holds nothing meanwhile.

The call is a task in the inbox, with the output schema as its form; the tool's transport only carries word of it, and
perhaps the answer (`notices.py`). The definition describes the task by keys of our own, in `transport` or at the top,
beginning with `x-`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Executor, Output, Support, Waiting
from ferrule.contracts.receiver import Receiver
from ferrule.contracts.registry import Registry
from ferrule.model.decision import Requirement
from ferrule.model.misfits import describe_complaint
from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.model.tool import Tool
from ferrule.model.upstreams import HumanUpstreams
from ferrule.runtime.executors.builtin import TRANSPORTS
from ferrule.runtime.executors.definition import read_transport
from ferrule.runtime.executors.human.notices import CALLBACK, NotTold, Teller, teller_of, told_in_time
from ferrule.runtime.executors.queue.channel import QueueSettings
from ferrule.runtime.executors.queue.formats import Formats
from ferrule.runtime.executors.surroundings import Surroundings

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
        raise ExecutionFailed(
            "setup_required", f"the task of {tool.tool_id!r} cannot be used: {describe_complaint(str(error))}"
        ) from None
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


_QUEUE = "message-queue"
_transports: Registry[Callable[[Surroundings], Executor]] = Registry("transport", TRANSPORTS)
_log = logging.getLogger("ferrule.human")


class HumanExecutor:
    """The tools that people are."""

    support = Support(progress=True, cancel=True, resume=True, credential_delegation=True)

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._made: dict[str, Executor] = {}

    def can_run(self, tool: Tool) -> bool:
        """True for every tool that is given to it: the door before it looked."""
        return tool.dialect == "aml"

    def prepare(self, tool: Tool) -> HumanRun:
        """The tool's runner. Raises ExecutionFailed (`setup_required`)."""
        task = read_task(tool, self._around.upstreams.human)
        return HumanRun(tool, task, teller_of(tool, task.transport, self._around, self._executor), self._around)

    def receiver(self, tool: Tool) -> Receiver | None:
        """What brings answers by a reply queue."""
        task = read_task(tool, self._around.upstreams.human)
        find: Callable[[Tool], Receiver | None] | None = (
            getattr(self._executor(_QUEUE), "receiver", None) if task.transport == _QUEUE else None
        )
        return find(tool) if find is not None else None

    def reply_value(self, tool: Tool, value: Any) -> Any:
        """What a person answered, out of what a reply queue brought."""
        try:
            given = Formats(tool, read_transport(tool, QueueSettings)).read(value).value
            return None if given is EMPTY else given
        except (ExecutionFailed, msgspec.ValidationError):
            return value  # it fits no form, so it is refused as an answer like any other that does not

    async def aclose(self) -> None:
        """Let go of the transports that told."""
        made, self._made = list(self._made.values()), {}
        for executor in made:
            await executor.aclose()

    def _executor(self, transport: str) -> Executor:
        if transport not in self._made:
            self._made[transport] = _transports.get(transport)(self._around)
        return self._made[transport]


class HumanRun:
    """One tool's tasks."""

    support = HumanExecutor.support

    def __init__(self, tool: Tool, task: Task, teller: Teller, surroundings: Surroundings) -> None:
        self._tool = tool
        self._task = task
        self._teller = teller
        self._around = surroundings

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Waiting:
        """Tell the outside world, and wait. Raises ExecutionFailed when the tool's set-up is at fault, and nobody is asked."""
        shown = self._around.shown(self._tool, arguments)
        message = self._task.question(shown)
        notice = self._notice(message, shown, context)
        state = b""
        try:
            native = await told_in_time(self._teller, notice, context)
            state = msgspec.json.encode(native) if native else b""
        except NotTold as why:
            context.progress(f"the task waits in the inbox; it could not be sent on: {why}")
            _log.warning("the task %s waits in the inbox; it could not be sent on: %s", context.invocation_id, why)
        return Waiting(
            message=message,
            state=state,
            answer_schema=self._task.answer_schema,
            expires_seconds=self._task.expires_seconds,
            requirement=Requirement(
                approvers=self._task.assignees,
                reply_channel=self._teller.reply_channel,
                remind_seconds=self._task.remind_seconds,
            ),
        )

    async def resume(self, state: bytes, answer: Any, context: Context) -> Output:
        """The answer is the output. It fits the schema, or nobody would have taken it."""
        native = msgspec.json.decode(state) if state else None
        return Output(answer, native_refs=(native,) if native else ())

    async def probe(self, context: Context) -> str:
        """Whether its transport could be told. The inbox works in any case."""
        return f"the inbox takes its tasks; {await self._teller.probe(context)}"

    def _notice(self, message: str, shown: Any, context: Context) -> dict[str, Any]:
        expires_at = round((self._around.now() + self._task.expires_seconds) * MICROSECONDS)
        return {
            "invocation_id": context.invocation_id,
            "tool_id": self._tool.tool_id,
            "title": self._task.title,
            "message": message,
            "input": shown,
            "answer_schema": self._task.answer_schema,
            "assignees": list(self._task.assignees),
            "expires_at": iso(expires_at),
            "callback": self._callback(context, expires_at) if self._teller.reply_channel == CALLBACK else None,
        }

    def _callback(self, context: Context, expires_at: int) -> dict[str, Any] | None:
        token = self._around.callback(context.invocation_id, expires_at)
        if not token:
            return None
        context.hide(token)
        return {"url": self._around.upstreams.human.callback_url, "token": token}
