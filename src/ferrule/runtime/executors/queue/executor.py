"""Runs tools behind message queues: a message with a correlation id, and an acknowledgement or a parked call.

Nothing is held for a reply: the call is parked, and `receiver.py` brings what comes back. A message that was sent is sent.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support, Waiting
from ferrule.contracts.receiver import Receiver
from ferrule.infra.clouds.api_request import failure_of
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.model.decision import Requirement
from ferrule.model.tool import Tool
from ferrule.runtime.executors.definition import read_tool_credentials, read_transport
from ferrule.runtime.executors.identity import Identity
from ferrule.runtime.executors.queue.azure_queue import azure_target
from ferrule.runtime.executors.queue.channel import Message, QueueSettings, Sender, Source
from ferrule.runtime.executors.queue.formats import JSON, Formats, Replied
from ferrule.runtime.executors.queue.kafka import KafkaQueue
from ferrule.runtime.executors.queue.kafka_brokers import kafka_place, workspace_group
from ferrule.runtime.executors.queue.pubsub import PubSub, subscription_name, topic_name
from ferrule.runtime.executors.queue.receiver import QueueReceiver, SetAside
from ferrule.runtime.executors.queue.service_bus import ServiceBus
from ferrule.runtime.executors.queue.sqs import SqsQueue
from ferrule.runtime.executors.queue.storage_queue import StorageQueue
from ferrule.runtime.executors.surroundings import Surroundings


class QueueExecutor:
    """All queues of one process."""

    support = Support(cancel=True, resume=True, retries=True, credential_delegation=True)

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._clouds = around.clouds
        self._aside = SetAside(around.root / around.upstreams.queue.set_aside, around.now, clean=around.clean)
        self._avro: set[str] = set()
        """Channels by which Avro comes back."""
        self._runs: dict[tuple[str, bytes], QueueRun] = {}
        """By tool and definition: surfaces share what is open."""

    def can_run(self, tool: Tool) -> bool:
        """True: `TransportExecutor` asks only for its own."""
        return True

    def prepare(self, tool: Tool) -> Run:
        """The tool's runner, one for all surfaces. Raises ExecutionFailed (`setup_required`)."""
        key = (tool.tool_id, bytes(tool.payload))
        if key not in self._runs:
            self._runs[key] = self._made(tool)
        return self._runs[key]

    def _made(self, tool: Tool) -> QueueRun:
        settings = read_transport(tool, QueueSettings)
        formats = Formats(tool, settings)
        sender = self._sender(tool, settings)
        channel = self._channel(tool, settings)
        if formats.is_avro:
            self._avro.add(channel)
        seconds = settings.reply_seconds or self._around.upstreams.queue.reply_seconds
        replies = self._source(tool, settings) if channel and settings.provider == "aws" else None
        return QueueRun(tool, settings, sender, formats, channel, seconds, self._around.guard, replies)

    def receiver(self, tool: Tool) -> Receiver | None:
        """What brings the replies of a tool; None for one that waits for none. Raises ExecutionFailed."""
        settings = read_transport(tool, QueueSettings)
        if not settings.response_queue_url:
            return None
        channel = self._channel(tool, settings)
        if settings.message_format == "avro":
            self._avro.add(channel)
        return QueueReceiver(
            channel, self._source(tool, settings), self._aside, takes_bytes=lambda: channel in self._avro
        )

    async def aclose(self) -> None:
        """Let go of connections."""
        runs, self._runs = list(self._runs.values()), {}
        for run in runs:
            await run.aclose()

    def _channel(self, tool: Tool, settings: QueueSettings) -> str:
        """The name of a response queue; Kafka's with its brokers, for a topic alone does not say which cluster's."""
        written = settings.response_queue_url
        if not written or settings.provider != "kafka":
            return f"queue:{written}" if written else ""
        place = kafka_place(settings.queue_url, settings, tool.tool_id)
        return f"queue:{kafka_place(written, settings, tool.tool_id, place).url}"

    def _identity(self, tool: Tool) -> Identity:
        return Identity(self._around.vault, read_tool_credentials(tool), tool.tool_id)

    def _sender(self, tool: Tool, settings: QueueSettings) -> Sender:
        around, identity, url, back = (
            self._around,
            self._identity(tool),
            settings.queue_url,
            settings.response_queue_url,
        )
        match settings.provider:
            case "aws":
                return SqsQueue(self._clouds.aws, identity, url, tool.tool_id, back)
            case "gcp":
                return self._pubsub(tool, settings, identity)
            case "azure":
                kind = StorageQueue if _is_storage(settings, url, tool) else ServiceBus
                return kind(around, self._clouds.azure, identity, url, tool.tool_id, back)
            case "kafka":
                return self._kafka(tool, settings, identity)

    def _source(self, tool: Tool, settings: QueueSettings) -> Source:
        around, identity, back = self._around, self._identity(tool), settings.response_queue_url
        match settings.provider:
            case "aws":
                return SqsQueue(self._clouds.aws, identity, back, tool.tool_id)
            case "gcp":
                return self._pubsub(tool, settings, identity)
            case "azure":
                kind = StorageQueue if _is_storage(settings, back, tool) else ServiceBus
                return kind(around, self._clouds.azure, identity, back, tool.tool_id)
            case "kafka":
                return self._kafka(tool, settings, identity)

    def _pubsub(self, tool: Tool, settings: QueueSettings, identity: Identity) -> PubSub:
        back = settings.response_queue_url
        return PubSub(
            self._around,
            self._clouds.gcp,
            identity,
            tool.tool_id,
            topic=topic_name(settings.queue_url, tool.tool_id),
            subscription=subscription_name(back, tool.tool_id) if back else "",
            endpoint=settings.endpoint,
        )

    def _kafka(self, tool: Tool, settings: QueueSettings, identity: Identity) -> KafkaQueue:
        place = kafka_place(settings.queue_url, settings, tool.tool_id)
        back = settings.response_queue_url
        replies = kafka_place(back, settings, tool.tool_id, place) if back else None

        def group() -> str:
            return settings.consumer_group or workspace_group(self._around.root)

        return KafkaQueue(self._around, identity, settings, tool.tool_id, place, replies, group)


class QueueRun:
    """Sends the calls of one tool, and reads its replies."""

    support = QueueExecutor.support

    def __init__(
        self,
        tool: Tool,
        settings: QueueSettings,
        sender: Sender,
        formats: Formats,
        channel: str,
        reply_seconds: int,
        guard: Guard,
        replies: Source | None = None,
    ) -> None:
        """`replies`: where they come from, if that can be tried on its own."""
        self._tool = tool
        self._replies = replies
        self._settings = settings
        self._sender = sender
        self._formats = formats
        self._channel = channel
        self._reply_seconds = reply_seconds
        self._guard = guard
        self.upstream = sender.host
        self.is_repeatable = sender.is_repeatable

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Output | Waiting:
        """Send. Without a response queue the answer is an acknowledgement (AML-51); with one the call waits for its reply."""
        message = self._message(arguments, context)
        if context.is_confined:
            self._demand_listed()
        ref = await self._sender.send(message, context)
        if not self._channel:
            ids = {name: value for name, value in ref.items() if name != "source"}
            accepted = {"status": "accepted", "invocation_id": context.invocation_id, **ids}
            return Output(accepted, native_refs=(ref,), is_acknowledgement=True)
        return Waiting(
            message=f"the message was sent; its reply is expected by {self._channel}",
            state=msgspec.json.encode(ref),
            expires_seconds=self._reply_seconds,
            requirement=Requirement(reply_channel=self._channel, is_reply_only=True),
        )

    async def resume(self, state: bytes, answer: Any, context: Context) -> Output | Waiting:
        """The output in the reply. Raises ExecutionFailed when it tells of a failure. Both messages are on record with it."""
        context.add_native_ref(**msgspec.json.decode(state, type=dict[str, Any]))
        try:
            native = msgspec.convert(answer, Replied).native
            if native:
                context.add_native_ref(**native, reply=True)
            return self._formats.read(answer)
        except msgspec.ValidationError:
            raise ExecutionFailed(
                "execution_failed", f"the reply for {self._tool.tool_id!r} cannot be read", code="reply_unreadable"
            ) from None

    async def probe(self, context: Context) -> str:
        """What is known about the queue, and about the one for replies, without sending."""
        told = await self._sender.probe(context)
        if isinstance(self._replies, SqsQueue):
            try:
                told = f"{told}; {await self._replies.probe(context)}"
            except ExecutionFailed as failed:
                message = f"{told}, but not the one for replies ({self._channel}): {failed.message}"
                raise ExecutionFailed(failed.error_class, message, code=failed.code) from failed
        return told

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._sender.aclose()

    def _demand_listed(self) -> None:
        """Raises ExecutionFailed when replies would be fetched from a host that the agent may not reach."""
        back = self._settings.response_queue_url
        if back.startswith(("https://", "http://", "sb://")):
            try:
                self._guard.demand_listed(azure_target(back, self._tool.tool_id))
            except Forbidden as error:
                raise failure_of(f"the response queue of {self._tool.tool_id!r}", error) from None

    def _message(self, arguments: dict[str, Any], context: Context) -> Message:
        body = self._formats.write(arguments)
        if len(body.content) > self._sender.max_bytes:
            raise ExecutionFailed(
                "invalid_arguments",
                f"the queue of {self._tool.tool_id!r} takes messages of {self._sender.max_bytes:,} bytes, and this one has"
                f" {len(body.content):,}; send less, or a reference",
                code="message_too_large",
            )
        by = arguments.get(self._settings.group_by) if self._settings.group_by else None
        return Message(
            body=body.content,
            is_text=body.content_type == JSON,
            content_type=body.content_type,
            invocation_id=context.invocation_id,
            tool_id=self._tool.tool_id,
            deduplication_id=context.idempotency_key or context.invocation_id,
            group="" if by is None else str(by),
            wants_reply=bool(self._channel),
        )


def _is_storage(settings: QueueSettings, url: str, tool: Tool) -> bool:
    """True for a queue of a storage account; the host tells, unless the definition does."""
    if settings.service:
        return settings.service == "storage-queue"
    return ".queue." in azure_target(url, tool.tool_id).host
