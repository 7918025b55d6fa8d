"""The `transport` of a REST tool as a record: which keys it reads, and what it refuses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.runtime.executors.rest.settings import AnswerSettings, ParameterPlace, RestTransport, Retries

WRITTEN: dict[str, Any] = {"base_url": "https://shop.example", "endpoint": "GET /orders"}


def read(**written: Any) -> RestTransport:
    """A transport as its author wrote it; `x_body` stands for `x-body`."""
    return msgspec.convert(
        {**WRITTEN, **{name.replace("_", "-"): said for name, said in written.items()}}, RestTransport
    )


def test_our_own_keys_begin_with_x() -> None:
    found = read(
        x_query={"format": "full"},
        x_headers={"X-Fixed": 1},
        x_body="form",
        x_mapping={"id": {"in": "query", "name": "orderId"}},
        x_response={"pointer": "/data", "as": "orders"},
        x_probe="GET /health",
    )
    assert (found.query, found.headers, found.body) == ({"format": "full"}, {"X-Fixed": 1}, "form")
    assert found.mapping == {"id": ParameterPlace(place="query", name="orderId")}
    assert found.answer == AnswerSettings(pointer="/data", member="orders")
    assert found.probe == "GET /health"


def test_keys_without_the_x_mean_nothing() -> None:
    found = read(body="form", mapping={"id": 3}, query=7)
    assert (found.body, found.mapping, found.query) == (None, {}, {})


@pytest.mark.parametrize(
    "written",
    [
        {"x_body": "xml"},
        {"x_mapping": {"id": {"in": "fragment"}}},
        {"x_mapping": {"id": {"place": "query"}}},
        {"x_mapping": {"id": {"in": "query", "stlye": "comma"}}},
        {"x_mapping": {"id": {"in": "query", "style": "json-text"}}},
        {"x_response": {"member": "orders"}},
        {"x_query": {"nested": {"a": 1}}},
    ],
)
def test_a_word_that_is_not_known_is_refused_rather_than_left_out(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**written)


@pytest.mark.parametrize(
    ("retries", "is_off"),
    [
        (Retries(), False),
        (Retries(max_attempts=2, on_status=[503]), False),
        (Retries(max_attempts=1), True),
        (Retries(max_attempts=0), True),
        (Retries(on_status=[]), True),
    ],
)
def test_one_attempt_or_no_status_means_one_request(retries: Retries, is_off: bool) -> None:
    """AML-43, AML-44"""
    assert retries.is_off is is_off
