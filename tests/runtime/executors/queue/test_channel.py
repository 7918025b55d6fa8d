"""The contract of one queue: what stands beside a message, and which keys of a transport it reads."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.runtime.executors.queue.channel import QueueMessage, QueueSettings


def message(**changes: Any) -> QueueMessage:
    fields: dict[str, Any] = {
        "body": b"{}",
        "is_text": True,
        "content_type": "application/json",
        "invocation_id": "inv_1",
        "tool_id": "shop.refund",
        "deduplication_id": "order-7",
    }
    return QueueMessage(**fields | changes)


def test_a_message_says_whose_call_it_is_and_where_to_reply() -> None:
    said = {"correlation_id": "inv_1", "content_type": "application/json", "tool_id": "shop.refund"}
    assert message().attributes("") == said
    assert message(group="bern").attributes("there/replies") == {**said, "reply_to": "there/replies"}


def read(**written: Any) -> QueueSettings:
    """A transport as its author wrote it; `x_group_by` stands for `x-group-by`."""
    keys = {name.replace("_", "-") if name.startswith("x_") else name: said for name, said in written.items()}
    return msgspec.convert({"provider": "kafka", "queue_url": "orders", **keys}, QueueSettings)


def test_our_own_keys_begin_with_x() -> None:
    found = read(x_group_by="order", x_reply_seconds=5, x_bootstrap_servers=["a:1", "b:2"], x_avro_schema_id=0)
    assert (found.group_by, found.reply_seconds, found.bootstrap_servers) == ("order", 5, ["a:1", "b:2"])
    assert found.avro_schema_id == 0
    assert read(group_by="order").group_by == ""


@pytest.mark.parametrize(
    "written",
    [
        {"provider": "rabbit"},
        {"message_format": "xml"},
        {"x_reply_seconds": 0},
        {"x_avro_schema_id": 2**31},
        {"x_avro_schema_id": -1},
        {"x_service": "event-hub"},
        {"x_sasl_mechanism": "GSSAPI"},
        {"x_security_protocol": "TLS"},
    ],
)
def test_what_no_queue_can_have_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**written)
