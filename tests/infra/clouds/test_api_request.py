"""What a failure of the network, or a failing status of a cloud, means for a call."""

from __future__ import annotations

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import classify_status, reach, read_json_object, status_failure, translate_failure
from ferrule.infra.network.client import Fetched
from ferrule.infra.network.request import BrokenAnswer, TooLong, Unreachable
from tests.infra.clouds.far import Reply, far
from tests.infra.clouds.fixtures import in_event_loop, local_client


@pytest.mark.parametrize(
    ("error", "error_class", "code", "said"),
    [
        (Unreachable("nobody is there"), "dependency_unavailable", "unreachable", "the queue: nobody is there"),
        (BrokenAnswer("half"), "dependency_unavailable", "broken_answer", "the queue: the answer is no HTTP: half"),
        (TooLong(7), "result_too_large", "too_long", "the queue: the answer is longer than 7 bytes"),
        (TimeoutError("canary"), "timeout", None, "the queue: no answer in time"),
        (KeyError("canary"), "dependency_unavailable", None, "the queue: KeyError"),
    ],
)
def test_each_failure_of_the_network_has_its_class(
    error: Exception, error_class: str, code: str | None, said: str
) -> None:
    found = translate_failure("the queue", error)
    assert (found.error_class, found.code, found.message) == (error_class, code, said)


def test_statuses_that_are_not_known_go_by_their_hundred() -> None:
    assert classify_status(599) == ("dependency_unavailable", None)
    assert classify_status(418) == ("execution_failed", None)
    assert classify_status(429) == ("rate_limited", None)


def test_a_failing_answer_says_when_to_come_back_and_what_it_was() -> None:
    found = status_failure("it is busy", Fetched(429, {"retry-after": "7"}, b"canary"))
    assert (found.error_class, found.retry_after, found.native_error_ref) == ("rate_limited", 7.0, "http:429")
    finer = status_failure("no", Fetched(400, {}, b""), meaning=("timeout", None), reference="aws:Slow")
    assert (finer.error_class, finer.native_error_ref) == ("timeout", "aws:Slow")


@in_event_loop
async def test_any_status_is_an_answer_and_what_cannot_be_asked_is_a_failure() -> None:
    with far(lambda asked: Reply(500, b"broken")) as server:
        client = local_client()
        fetched = await reach(client, "it", "GET", f"{server.url}/x")
        assert (fetched.status, fetched.body) == (500, b"broken")
        for url, code in (("ftp://x", "address_unreadable"), ("http://10.0.0.1/", "address_forbidden")):
            with pytest.raises(ExecutionFailed) as caught:
                await reach(client, "it", "GET", url)
            assert caught.value.code == code
        assert server.paths() == ["/x"]


def test_only_an_object_is_an_object() -> None:
    assert read_json_object(b'{"a": 1}') == {"a": 1}
    for body in (b"", b"[1]", b"null", b"\xff", b"{", b"[" * 100_000):
        assert read_json_object(body) == {}
