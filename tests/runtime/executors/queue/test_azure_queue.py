"""Addresses of Azure queues, and what Azure calls a request."""

from __future__ import annotations

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.client import Fetched
from ferrule.runtime.executors.queue.azure_queue import azure_target, request_id_of


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://shop.servicebus.windows.net/orders", "https://shop.servicebus.windows.net/orders"),
        ("sb://shop.servicebus.windows.net/orders/", "https://shop.servicebus.windows.net/orders"),
        ("https://shop.queue.core.windows.net//orders/", "https://shop.queue.core.windows.net/orders"),
        ("http://127.0.0.1:10001/account/orders", "http://127.0.0.1:10001/account/orders"),
    ],
)
def test_a_queue_is_an_address_that_ends_in_its_name(written: str, url: str) -> None:
    """The scheme of Service Bus always means encryption."""
    assert azure_target(written, "shop.refund").url == url


@pytest.mark.parametrize(
    "written",
    [
        "orders",
        "https://shop.servicebus.windows.net",
        "sb://shop.servicebus.windows.net/",
        "https://shop.net/orders?sig=x",
    ],
)
def test_an_address_without_a_queue_is_a_matter_of_set_up(written: str) -> None:
    with pytest.raises(ExecutionFailed, match=r"the queue of 'shop\.refund'") as failed:
        azure_target(written, "shop.refund")
    assert failed.value.error_class == "setup_required"


@pytest.mark.parametrize("name", ["x-ms-request-id", "tracking-id"])
def test_a_request_is_known_by_the_id_that_azure_gave_it(name: str) -> None:
    assert request_id_of(Fetched(201, {name: "abc-1"}, b"")) == {"request_id": "abc-1"}
    assert request_id_of(Fetched(201, {name: ""}, b"")) == {}
