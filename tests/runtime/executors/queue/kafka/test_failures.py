"""What the library's failures mean. The types are the library's own."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka import errors

from ferrule.infra.network.guard import Forbidden
from ferrule.runtime.executors.queue.kafka import kafka_failure


@pytest.mark.parametrize(
    ("error", "error_class", "code"),
    [
        (errors.AuthenticationFailedError("words-canary"), "credential_missing", "credential_refused"),
        (errors.SaslAuthenticationFailed("words-canary"), "credential_missing", "credential_refused"),
        (errors.UnsupportedSaslMechanismError(), "setup_required", "sasl_mechanism"),
        (errors.TopicAuthorizationFailedError(), "permission_denied", "upstream_denied"),
        (errors.MessageSizeTooLargeError(), "invalid_arguments", "message_too_large"),
        (errors.UnknownTopicOrPartitionError(), "execution_failed", "not_found"),
        (errors.KafkaConnectionError("words-canary"), "dependency_unavailable", None),
        (errors.NotLeaderForPartitionError(), "dependency_unavailable", None),
        (errors.KafkaTimeoutError(), "timeout", None),
        (TimeoutError(), "timeout", None),
        (ConnectionRefusedError("words-canary"), "dependency_unavailable", None),
        (Forbidden("10.0.0.1 is not a public address"), "policy_blocked", "address_forbidden"),
    ],
)
def test_each_failure_has_its_class(error: Any, error_class: str, code: str | None) -> None:
    failed = kafka_failure("the queue of 'ask'", "kafka:9092", error)
    assert (failed.error_class, failed.code) == (error_class, code)
    assert "canary" not in failed.message
