"""The brokers of a Kafka topic: how places are written, and the name that a workspace keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.executors.queue.channel import QueueSettings
from ferrule.runtime.executors.queue.kafka_brokers import parse_kafka_topic, workspace_group


def place(written: str, **said: Any) -> str:
    settings = QueueSettings(provider="kafka", queue_url=written, **said)
    return parse_kafka_topic(written, settings, "tool").url


def test_places_are_read_in_their_spellings() -> None:
    assert place("kafka://a:1,b/topic.x") == "kafka://a:1,b:9092/topic.x"
    assert place("topic", bootstrap_servers="a:1, b:2") == "kafka://a:1,b:2/topic"
    assert place("topic", bootstrap_servers=["a:1"]) == "kafka://a:1/topic"
    arn = "arn:aws:kafka:eu-west-1:123456789012:topic/cluster/6f1c-2/orders"
    assert place(arn, bootstrap_servers="a:1") == "kafka://a:1/orders"
    assert place("kafka://[::1]:9/topic") == "kafka://[::1]:9/topic"


@pytest.mark.parametrize(
    "written", ["topic", "kafka:///x", "kafka://a:1/", "kafka://a:1/a/b", "kafka://a:1/..", "kafka://u@a/x"]
)
def test_what_is_no_place_is_refused(written: str) -> None:
    with pytest.raises(ExecutionFailed) as caught:
        place(written)
    assert caught.value.error_class == "setup_required"


def test_a_workspace_keeps_its_name(tmp_path: Path) -> None:
    first = workspace_group(tmp_path)
    assert first.startswith("ferrule-")
    assert workspace_group(tmp_path) == first
    assert workspace_group(tmp_path / "other") != first
