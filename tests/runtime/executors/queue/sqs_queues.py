"""Two queues of SQS, at moto, and somebody who works on one and answers by the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.clouds.amazon import KEYS, REGION, Amazon, amazon
from tests.runtime.executors.queue.tools import (
    queue_tool,
)


class Queues:
    """Two queues, and somebody who works on one and answers by the other."""

    def __init__(self, aws: Amazon) -> None:
        self.aws = aws
        self.sqs = aws.client("sqs")
        self.jobs = self.made("jobs")
        self.replies = self.made("replies")
        self.env = {**KEYS, "AWS_REGION": REGION}

    def made(self, name: str, **attributes: str) -> str:
        """A new queue's address."""
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def taken(self, queue: str | None = None) -> dict[str, Any]:
        """The next message, taken off the queue."""
        found = self.sqs.receive_message(
            QueueUrl=queue or self.jobs, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=2
        )
        message: dict[str, Any] = found["Messages"][0]
        self.sqs.delete_message(QueueUrl=queue or self.jobs, ReceiptHandle=message["ReceiptHandle"])
        return message

    def answer(self, body: Any, correlation: str = "", **attributes: str) -> None:
        """Put a reply into the queue for replies."""
        said = {**attributes, **({"correlation_id": correlation} if correlation else {})}
        self.sqs.send_message(
            QueueUrl=self.replies,
            MessageBody=body if isinstance(body, str) else json.dumps(body),
            MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in said.items()},
        )

    def left(self) -> int:
        """How many replies are still there, seen or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.replies, AttributeNames=names)["Attributes"]
        return sum(map(int, found.values()))

    def ask(self, **said: Any) -> str:
        """A tool that waits for its replies."""
        return queue_tool("ask", "aws", self.jobs, response_queue_url=self.replies, **said)


def attribute(message: dict[str, Any], name: str) -> str:
    """One attribute of a message."""
    return str(message["MessageAttributes"][name]["StringValue"])


@pytest.fixture
def queues() -> Iterator[Queues]:
    """Both queues, for one test."""
    with amazon() as aws:
        yield Queues(aws)
