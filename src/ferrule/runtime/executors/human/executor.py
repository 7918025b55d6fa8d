"""Runs tools of type `human` (AML-21): a person does the work. The call is parked and holds no resources meanwhile.

The call is a task in the inbox, with the output schema as its form; the tool's transport only carries the notice, and
possibly the answer (`notices.py`). The definition describes the task by extension keys of ours, in `transport` or at the
top, that begin with `x-`.
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
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.builtin import TRANSPORTS
from ferrule.runtime.executors.definition import read_transport
from ferrule.runtime.executors.human.notices import CALLBACK, NotNotified, TaskNotifier, notifier_of, notify_in_time
from ferrule.runtime.executors.queue.channel import QueueSettings
from ferrule.runtime.executors.queue.formats import Formats
from ferrule.runtime.executors.transport_services import TransportServices

_PLACE = re.compile(r"\{([^{}]+)\}")
_LONGEST_MEMBER = 300


class TaskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a task in its definition."""

    assignees: tuple[str, ...] | str = msgspec.field(name="x-assignees", default=())
    """People, and groups as `group:finance`; when empty, everybody with the approve scope."""
    message: str = msgspec.field(name="x-message", default="")
    """The text for the person; `{member}` is replaced by a member of the redacted input."""
    expires_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = msgspec.field(name="x-expires-seconds", default=None)
    """How long it waits; `[human] expires_seconds` by default."""
    remind_seconds: Annotated[int, msgspec.Meta(ge=0)] | None = msgspec.field(name="x-remind-seconds", default=None)
    """The interval of reminders; 0 for none, `[human] remind_seconds` by default."""


class HumanTask(msgspec.Struct, frozen=True, kw_only=True):
    """The task of one tool, with defaults filled in."""

    title: str
    assignees: tuple[str, ...]
    message: str
    expires_seconds: int
    remind_seconds: int
    transport: str
    """The type of the transport that carries its notices."""
    answer_schema: dict[str, Any]

    def question(self, redacted: object) -> str:
        """Returns the text for the person about one call."""
        members = redacted if isinstance(redacted, dict) else {}
        return _PLACE.sub(lambda found: _fill_member(found[0], found[1], members), self.message)


class _Definition(msgspec.Struct):
    transport: dict[str, Any] = {}


def read_task(tool: Tool, upstream: HumanUpstreams) -> HumanTask:
    """Reads the task in a tool's definition. Raises ExecutionFailed (`setup_required`)."""
    try:
        top = msgspec.json.decode(tool.payload, type=dict[str, Any])
        transport = msgspec.convert(top, _Definition).transport
        settings = msgspec.convert({**top, **transport}, TaskSettings)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise ExecutionFailed(
            "setup_required", f"the task of {tool.tool_id!r} cannot be used: {describe_complaint(str(error))}"
        ) from None
    assignees = (settings.assignees,) if isinstance(settings.assignees, str) else settings.assignees
    if any(not name.strip() or name != name.strip() or name == "group:" for name in assignees):
        raise ExecutionFailed(
            "setup_required", f"x-assignees of {tool.tool_id!r} must be names of people, or of groups as 'group:NAME'"
        )
    title = tool.title or tool.name
    return HumanTask(
        title=title,
        assignees=tuple(dict.fromkeys(assignees)),
        message=settings.message or f"{title}: a person has to answer",
        expires_seconds=settings.expires_seconds or upstream.expires_seconds,
        remind_seconds=upstream.remind_seconds if settings.remind_seconds is None else settings.remind_seconds,
        transport=str(transport.get("type", "")),
        answer_schema=_schema(tool),
    )


def _schema(tool: Tool) -> JsonObject:
    schema = msgspec.json.decode(tool.output_schema) if tool.output_schema is not None else {}
    return schema if isinstance(schema, dict) else {}


def _fill_member(place: str, name: str, members: JsonObject) -> str:
    if name not in members:
        return place
    value = members[name]
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_MEMBER else f"{text[:_LONGEST_MEMBER]}…"


_QUEUE = "message-queue"
_transports: Registry[Callable[[TransportServices], Executor]] = Registry("transport", TRANSPORTS)
_log = logging.getLogger("ferrule.human")


class HumanExecutor:
    """Executor of tools that people carry out."""

    support = Support(progress=True, cancel=True, resume=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self._services = services
        self._executors: dict[str, Executor] = {}

    def can_run(self, tool: Tool) -> bool:
        """Returns True for an AML tool; `TransportExecutor` has checked its type."""
        return tool.dialect == "aml"

    def prepare(self, tool: Tool) -> HumanRun:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`)."""
        task = read_task(tool, self._services.upstreams.human)
        return HumanRun(tool, task, notifier_of(tool, task.transport, self._services, self._executor), self._services)

    def receiver(self, tool: Tool) -> Receiver | None:
        """Returns the receiver of answers through a reply queue; None without one."""
        task = read_task(tool, self._services.upstreams.human)
        find: Callable[[Tool], Receiver | None] | None = (
            getattr(self._executor(_QUEUE), "receiver", None) if task.transport == _QUEUE else None
        )
        return find(tool) if find is not None else None

    def reply_value(self, tool: Tool, value: object) -> Any:
        """Extracts a person's answer from a message of a reply queue."""
        try:
            given = Formats(tool, read_transport(tool, QueueSettings)).read(value).value
            return None if given is EMPTY else given
        except (ExecutionFailed, msgspec.ValidationError):
            return value  # unreadable: checked against the output schema and refused like any other wrong answer

    async def aclose(self) -> None:
        """Closes the executors that carried notices."""
        made, self._executors = list(self._executors.values()), {}
        for executor in made:
            await executor.aclose()

    def _executor(self, transport: str) -> Executor:
        if transport not in self._executors:
            self._executors[transport] = _transports.get(transport)(self._services)
        return self._executors[transport]


class HumanRun:
    """Runner of one tool: creates its tasks."""

    support = HumanExecutor.support

    def __init__(self, tool: Tool, task: HumanTask, notifier: TaskNotifier, services: TransportServices) -> None:
        self._tool = tool
        self._task = task
        self._notifier = notifier
        self._services = services

    async def __call__(self, arguments: JsonObject, context: Context) -> Waiting:
        """Sends the notice and parks the call. Raises ExecutionFailed when the tool's setup is wrong; no task is created then."""
        redacted = self._services.redact_arguments(self._tool, arguments)
        message = self._task.question(redacted)
        notice = self._notice(message, redacted, context)
        state = b""
        try:
            native = await notify_in_time(self._notifier, notice, context)
            state = msgspec.json.encode(native) if native else b""
        except NotNotified as why:
            # The inbox is the promise, and the notice a convenience: without it the task stands.
            context.progress(f"the task waits in the inbox; it could not be sent on: {why}")
            _log.warning("the task %s waits in the inbox; it could not be sent on: %s", context.invocation_id, why)
        return Waiting(
            message=message,
            state=state,
            answer_schema=self._task.answer_schema,
            expires_seconds=self._task.expires_seconds,
            requirement=Requirement(
                approvers=self._task.assignees,
                reply_channel=self._notifier.reply_channel,
                remind_seconds=self._task.remind_seconds,
            ),
        )

    async def resume(self, state: bytes, answer: object, context: Context) -> Output:
        """Returns the answer as the output; it was checked against the schema when it was accepted."""
        native = msgspec.json.decode(state) if state else None
        return Output(answer, native_refs=(native,) if native else ())

    async def probe(self, context: Context) -> str:
        """Checks the transport of notices; the inbox works in any case. Raises ExecutionFailed."""
        return f"the inbox takes its tasks; {await self._notifier.probe(context)}"

    def _notice(self, message: str, redacted: object, context: Context) -> JsonObject:
        expires_at = round((self._services.now() + self._task.expires_seconds) * MICROSECONDS)
        return {
            "invocation_id": context.invocation_id,
            "tool_id": self._tool.tool_id,
            "title": self._task.title,
            "message": message,
            "input": redacted,
            "answer_schema": self._task.answer_schema,
            "assignees": list(self._task.assignees),
            "expires_at": iso(expires_at),
            "callback": self._callback(context, expires_at) if self._notifier.reply_channel == CALLBACK else None,
        }

    def _callback(self, context: Context, expires_at: int) -> JsonObject | None:
        token = self._services.issue_callback(context.invocation_id, expires_at)
        if not token:
            return None
        context.hide(token)
        return {"url": self._services.upstreams.human.callback_url, "token": token}
