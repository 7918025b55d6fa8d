"""SQS as moto plays it, and somebody who works on the messages and replies. What moto cannot refuse is refused in front of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from urllib.request import Request, urlopen

from ferrule.settings import NetworkSettings, Settings
from tests.contracts.transports.fake_upstream import CANARY, Behaviour, FakeUpstream, aml
from tests.infra.clouds.amazon import KEYS, REGION, Amazon, amazon
from tests.infra.clouds.far import Asked, Reply, far
from tests.infra.clouds.microsoft import microsoft

ACCOUNT = "123456789012"
NAMES = ("echo", "slow", "fails", "empty", "flaky")
RETRIES = "  retry_policy: {max_attempts: 3, backoff_ms: 10}\n"


class Front:
    """Passes on to moto what comes; counts messages that are sent, and fails every other one to `flaky`."""

    def __init__(self, aws: Amazon) -> None:
        self._aws = aws
        self.sent = 0
        self._flaky = 0

    def answer(self, asked: Asked) -> Reply:
        target = asked.headers.get("x-amz-target", "")
        url = json.loads(asked.body).get("QueueUrl", "") if asked.body else ""
        if target.endswith(".SendMessage") and url.endswith("/flaky"):
            self._flaky += 1
            if self._flaky % 2:
                return Reply(503, {"__type": "ServiceUnavailable", "message": "later"})
        if target.endswith(".SendMessage"):
            self.sent += 1
        kept = {
            name: value for name, value in asked.headers.items() if name not in ("host", "content-length", "connection")
        }
        with urlopen(Request(self._aws.url + asked.path, asked.body, kept, method=asked.method), timeout=60) as answer:
            return Reply(answer.status, answer.read(), {"Content-Type": "application/x-amz-json-1.0"})


class Worker:
    """Takes messages, and replies as their queue says."""

    def __init__(self, aws: Amazon) -> None:
        self._sqs = aws.client("sqs")
        self.urls = {name: str(self._sqs.create_queue(QueueName=name)["QueueUrl"]) for name in (*NAMES, "replies")}
        self._ends = threading.Event()
        self.begun = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(name,)) for name in NAMES]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(20)

    def _work(self, name: str) -> None:
        while not self._ends.is_set():
            found = self._sqs.receive_message(
                QueueUrl=self.urls[name], MessageAttributeNames=["All"], MaxNumberOfMessages=10
            )
            for message in found.get("Messages", ()):
                self._sqs.delete_message(QueueUrl=self.urls[name], ReceiptHandle=message["ReceiptHandle"])
                self._reply(name, json.loads(message["Body"]), message["MessageAttributes"]["correlation_id"])
            if not found.get("Messages"):
                self._ends.wait(0.05)

    def _reply(self, name: str, body: dict[str, Any], correlation: dict[str, str]) -> None:
        said: Any = {"text": body.get("text")}
        if name == "slow":
            self.begun.set()
            self._ends.wait(30)
            return
        if name == "fails":
            said = {"error": {"code": "E7", "message": f"it says {CANARY}"}}
        if name == "empty":
            said = None
        told = {"correlation_id": {"DataType": "String", "StringValue": correlation["StringValue"]}}
        self._sqs.send_message(QueueUrl=self.urls["replies"], MessageBody=json.dumps(said), MessageAttributes=told)


@asynccontextmanager
async def running_upstream() -> AsyncIterator[FakeUpstream]:
    """One queue for each behaviour, and one for all replies."""
    with ExitStack() as stack:
        aws = stack.enter_context(amazon())
        front = Front(aws)
        url = stack.enter_context(far(front.answer)).url
        azure = stack.enter_context(microsoft())
        worker = Worker(aws)
        stack.callback(worker.close)
        definitions: dict[Behaviour, str] = {name: aml(name, _sqs(url, name)) for name in ("echo", "fails", "empty")}
        definitions["slow"] = aml("slow", _sqs(url, "slow") + "  x-reply-seconds: 1\n")
        definitions["flaky"] = aml("flaky", _sqs(url, "flaky") + RETRIES)
        definitions["unset"] = aml("unset", _sqs(url, "echo", "{scheme: service-account, source: env, name: UNSET}"))
        definitions["gone"] = aml("gone", _sqs("http://127.0.0.1:1", "echo"))
        definitions["refused"] = aml("refused", _service_bus(azure.url))
        wrong = {**azure.account(), "client_secret": CANARY}
        yield FakeUpstream(
            definitions=definitions,
            settings=Settings(network=NetworkSettings(allow=("127.0.0.1",))),
            environment={**KEYS, "AWS_REGION": REGION, "AZURE_AUTHORITY_HOST": azure.url, "WRONG": json.dumps(wrong)},
            touched=lambda: front.sent,
            begun=lambda: _begun(worker),
            stopped=_never,
            without={
                "steps": "a queue tells nothing between a message and its reply",
                "big": "a message of SQS has at most 1 MB",
            },
            can_stop=False,
        )


def _sqs(url: str, name: str, credentials: str = "{scheme: iam-role}") -> str:
    return (
        f"  type: message-queue\n  provider: aws\n  queue_url: {url}/{ACCOUNT}/{name}\n"
        f"  response_queue_url: {url}/{ACCOUNT}/replies\n  credentials: {credentials}\n"
    )


def _service_bus(url: str) -> str:
    return (
        f"  type: message-queue\n  provider: azure\n  queue_url: {url}/jobs\n"
        "  credentials: {scheme: service-account, source: env, name: WRONG}\n"
    )


async def _begun(worker: Worker) -> None:
    await asyncio.to_thread(worker.begun.wait, 20)


async def _never() -> bool:
    return False
