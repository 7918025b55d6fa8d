"""Shared by the tests of queues: two of SQS."""

from __future__ import annotations

from tests.runtime.executors.queue.sqs_queues import queues as queues
