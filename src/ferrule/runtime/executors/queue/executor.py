"""Runs tools behind message queues: sends a message with a correlation id, then acknowledges or parks the call.

No task waits for a reply: the call is parked, and `receiver.py` delivers what comes back. A sent message cannot be recalled.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support, Waiting
from ferrule.contracts.receiver import Receiver
from ferrule.infra.clouds.api_request import translate_failure
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.model.decision import Requirement
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import read_tool_credentials, read_transport
from ferrule.runtime.executors.identity import CloudIdentity
from ferrule.runtime.executors.queue.azure_queue import azure_target
from ferrule.runtime.executors.queue.channel import QueueMessage, QueueSettings, ReplySource, Sender
from ferrule.runtime.executors.queue.formats import JSON, Formats, StoredReply
from ferrule.runtime.executors.queue.kafka import KafkaQueue
from ferrule.runtime.executors.queue.kafka_brokers import parse_kafka_topic, workspace_group
from ferrule.runtime.executors.queue.pubsub import PubSub, subscription_name, topic_name
from ferrule.runtime.executors.queue.receiver import QueueReceiver, SetAside
from ferrule.runtime.executors.queue.service_bus import ServiceBus
from ferrule.runtime.executors.queue.sqs import SqsQueue
from ferrule.runtime.executors.queue.storage_queue import StorageQueue
from ferrule.runtime.executors.transport_services import TransportServices


class QueueExecutor:
    """Executor of all tools behind queues."""

    support = Support(cancel=True, resume=True, retries=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self._services = services
        self._clouds = services.clouds
        self._aside = SetAside(
            services.root / services.upstreams.queue.set_aside, services.now, clean=services.redact_bytes
        )
        self._avro: set[str] = set()
        """Channels whose replies are Avro."""
        self._runs: dict[tuple[str, bytes], QueueRun] = {}
        """Runners by tool and definition: surfaces share connections."""

    def can_run(self, tool: Tool) -> bool:
        """Returns True: `TransportExecutor` passes only tools of this transport."""
        return True

    def prepare(self, tool: Tool) -> Run:
        """Returns the tool's runner, one for all surfaces. Raises ExecutionFailed (`setup_required`)."""
        key = (tool.tool_id, bytes(tool.payload))
        if key not in self._runs:
            self._runs[key] = self._build_run(tool)
        return self._runs[key]

    def _build_run(self, tool: Tool) -> QueueRun:
        settings = read_transport(tool, QueueSettings)
        formats = Formats(tool, settings)
        sender = self._sender(tool, settings)
        channel = self._channel(tool, settings)
        if formats.is_avro:
            self._avro.add(channel)
        seconds = settings.reply_seconds or self._services.upstreams.queue.reply_seconds
        replies = self._source(tool, settings) if channel and settings.provider == "aws" else None
        return QueueRun(tool, settings, sender, formats, channel, seconds, self._services.guard, replies)

    def receiver(self, tool: Tool) -> Receiver | None:
        """Returns the receiver of a tool's replies; None when it waits for none. Raises ExecutionFailed."""
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
        """Closes connections."""
        runs, self._runs = list(self._runs.values()), {}
        for run in runs:
            await run.aclose()

    def _channel(self, tool: Tool, settings: QueueSettings) -> str:
        """Returns the name of a response queue; Kafka's includes the brokers, as a topic alone does not identify the cluster."""
        written = settings.response_queue_url
        if not written or settings.provider != "kafka":
            return f"queue:{written}" if written else ""
        place = parse_kafka_topic(settings.queue_url, settings, tool.tool_id)
        return f"queue:{parse_kafka_topic(written, settings, tool.tool_id, place).url}"

    def _identity(self, tool: Tool) -> CloudIdentity:
        return CloudIdentity(self._services.vault, read_tool_credentials(tool), tool.tool_id)

    def _sender(self, tool: Tool, settings: QueueSettings) -> Sender:
        services, identity, url, reply_url = (
            self._services,
            self._identity(tool),
            settings.queue_url,
            settings.response_queue_url,
        )
        match settings.provider:
            case "aws":
                return SqsQueue(self._clouds.aws, identity, url, tool.tool_id, reply_url)
            case "gcp":
                return self._pubsub(tool, settings, identity)
            case "azure":
                kind = StorageQueue if _is_storage(settings, url, tool) else ServiceBus
                return kind(services, self._clouds.azure, identity, url, tool.tool_id, reply_url)
            case "kafka":
                return self._kafka(tool, settings, identity)

    def _source(self, tool: Tool, settings: QueueSettings) -> ReplySource:
        services, identity, reply_url = self._services, self._identity(tool), settings.response_queue_url
        match settings.provider:
            case "aws":
                return SqsQueue(self._clouds.aws, identity, reply_url, tool.tool_id)
            case "gcp":
                return self._pubsub(tool, settings, identity)
            case "azure":
                kind = StorageQueue if _is_storage(settings, reply_url, tool) else ServiceBus
                return kind(services, self._clouds.azure, identity, reply_url, tool.tool_id)
            case "kafka":
                return self._kafka(tool, settings, identity)

    def _pubsub(self, tool: Tool, settings: QueueSettings, identity: CloudIdentity) -> PubSub:
        reply_url = settings.response_queue_url
        return PubSub(
            self._services,
            self._clouds.gcp,
            identity,
            tool.tool_id,
            topic=topic_name(settings.queue_url, tool.tool_id),
            subscription=subscription_name(reply_url, tool.tool_id) if reply_url else "",
            endpoint=settings.endpoint,
        )

    def _kafka(self, tool: Tool, settings: QueueSettings, identity: CloudIdentity) -> KafkaQueue:
        place = parse_kafka_topic(settings.queue_url, settings, tool.tool_id)
        reply_url = settings.response_queue_url
        replies = parse_kafka_topic(reply_url, settings, tool.tool_id, place) if reply_url else None

        def group() -> str:
            return settings.consumer_group or workspace_group(self._services.root)

        return KafkaQueue(self._services, identity, settings, tool.tool_id, place, replies, group)


class QueueRun:
    """Runner of one tool: sends its calls, and reads its replies."""

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
        replies: ReplySource | None = None,
    ) -> None:
        """`replies`: the queue of replies, if it can be probed on its own."""
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

    async def __call__(self, arguments: JsonObject, context: Context) -> Output | Waiting:
        """Sends the call. Without a response queue it ends with an acknowledgement (AML-51); with one it waits for its reply."""
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

    async def resume(self, state: bytes, answer: object, context: Context) -> Output | Waiting:
        """Returns the output in the reply; records the ids of both messages. Raises ExecutionFailed for a reported failure."""
        context.add_native_ref(**msgspec.json.decode(state, type=dict[str, Any]))
        try:
            native = msgspec.convert(answer, StoredReply).native
            if native:
                context.add_native_ref(**native, reply=True)
            return self._formats.read(answer)
        except msgspec.ValidationError:
            raise ExecutionFailed(
                "execution_failed", f"the reply for {self._tool.tool_id!r} cannot be read", code="reply_unreadable"
            ) from None

    async def probe(self, context: Context) -> str:
        """Checks the queue, and the one for replies where that is possible, without sending. Raises ExecutionFailed."""
        summary = await self._sender.probe(context)
        if isinstance(self._replies, SqsQueue):
            try:
                summary = f"{summary}; {await self._replies.probe(context)}"
            except ExecutionFailed as failed:
                message = f"{summary}, but not the one for replies ({self._channel}): {failed.message}"
                raise ExecutionFailed(failed.error_class, message, code=failed.code) from failed
        return summary

    async def aclose(self) -> None:
        """Closes connections."""
        await self._sender.aclose()

    def _demand_listed(self) -> None:
        """Raises ExecutionFailed when replies would come from a host that the agent must not reach."""
        reply_url = self._settings.response_queue_url
        if reply_url.startswith(("https://", "http://", "sb://")):
            try:
                self._guard.demand_listed(azure_target(reply_url, self._tool.tool_id))
            except Forbidden as error:
                raise translate_failure(f"the response queue of {self._tool.tool_id!r}", error) from None

    def _message(self, arguments: JsonObject, context: Context) -> QueueMessage:
        body = self._formats.write(arguments)
        if len(body.content) > self._sender.max_bytes:
            raise ExecutionFailed(
                "invalid_arguments",
                f"the queue of {self._tool.tool_id!r} takes messages of {self._sender.max_bytes:,} bytes, and this one has"
                f" {len(body.content):,}; send less, or a reference",
                code="message_too_large",
            )
        by = arguments.get(self._settings.group_by) if self._settings.group_by else None
        return QueueMessage(
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
    """Returns True for a queue of a storage account, by the definition or else by the host."""
    if settings.service:
        return settings.service == "storage-queue"
    return ".queue." in azure_target(url, tool.tool_id).host
