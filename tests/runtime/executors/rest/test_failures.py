"""How calls over HTTP fail: by status, by network, by time; what is tried again, and what is left alone."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.retry import RetrySettings
from ferrule.runtime.pipeline.tool_facts import read_traits
from tests.runtime.executors.rest.server import Answering, Seen, Server, Wire, answer, json_answer
from tests.runtime.executors.rest.tools import ANY, context, run_of, told

OK = json_answer({"ok": True})
QUICK = {"max_attempts": 3, "on_status": [429, 503], "backoff_ms": 1}
ONCE = {"max_attempts": 1}


@pytest.mark.parametrize(
    ("status", "error_class", "code"),
    [
        (400, "invalid_arguments", "http_400"),
        (401, "credential_missing", "credential_refused"),
        (403, "permission_denied", "upstream_denied"),
        (404, "execution_failed", "http_404"),
        (405, "execution_failed", "http_405"),
        (408, "timeout", "http_408"),
        (409, "execution_failed", "http_409"),
        (413, "invalid_arguments", "http_413"),
        (418, "execution_failed", "http_418"),
        (422, "invalid_arguments", "http_422"),
        (429, "rate_limited", "http_429"),
        (500, "dependency_unavailable", "http_500"),
        (501, "dependency_unavailable", "http_501"),
        (503, "dependency_unavailable", "http_503"),
        (599, "dependency_unavailable", "http_599"),
        (304, "execution_failed", "http_304"),
        (300, "execution_failed", "http_300"),
    ],
)
def test_a_status_has_a_class(status: int, error_class: str, code: str) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        error = result.error
        assert (error.error_class, error.error_code, error.native_error_ref) == (error_class, code, f"http:{status}")
        assert "the-tool" in error.message
        assert f"127.0.0.1 answered {status}" in error.message
        assert len(server.seen) == 1

    told(story, answer(status), retry_policy=ONCE)


def test_what_the_definition_says_about_a_status_reaches_the_model() -> None:
    """AML-36: meaning and agent_action, with the failing response."""

    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert "Too many searches. Wait a minute, then search again." in result.error.message
        assert "Wait a minute" in result.content[0]["text"]

    codes = {"429": {"meaning": "Too many searches.", "agent_action": "Wait a minute, then search again."}}
    told(story, answer(429), retry_policy=ONCE, error_codes=codes)


def test_the_words_of_a_failure_are_shown_bounded_and_never_in_the_message() -> None:
    """`application/problem+json` and the like: the model can read it, as something the other side wrote."""

    async def problem(call: Any, server: Server) -> None:
        result = await call()
        assert "no such currency" not in result.error.message
        assert "no such currency" in result.content[1]["text"]
        assert result.content[1]["text"].startswith("127.0.0.1 wrote:")

    async def long(call: Any, server: Server) -> None:
        result = await call()
        assert 2_000 < len(result.content[1]["text"]) < 2_100
        assert (await call()).error.error_class == "execution_failed"

    async def binary(call: Any, server: Server) -> None:
        assert len((await call()).content) == 1

    told(problem, answer(422, b'{"detail":"no such currency"}', media_type="application/problem+json"))
    told(long, answer(404, b"x" * 5_000_000, media_type="text/html"))
    told(binary, answer(404, b"\0" * 100, media_type="image/png"))


async def reset(seen: Seen, wire: Wire) -> None:
    wire.reset()


async def half_a_head(seen: Seen, wire: Wire) -> None:
    wire.writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    await wire.writer.drain()


async def half_a_body(seen: Seen, wire: Wire) -> None:
    wire.writer.write(answer(200, b'{"a":', length=50))
    await wire.writer.drain()


async def too_much(seen: Seen, wire: Wire) -> None:
    wire.writer.write(answer(200, b'{"a":1}XXXXHTTP/1.1 200 OK\r\n\r\n', length=7))
    await wire.writer.drain()


async def no_http(seen: Seen, wire: Wire) -> None:
    wire.writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    await wire.writer.drain()


async def two_lengths(seen: Seen, wire: Wire) -> None:
    wire.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}")
    await wire.writer.drain()


async def broken_pack(seen: Seen, wire: Wire) -> None:
    wire.writer.write(answer(200, b"this is not packed", {"Content-Encoding": "gzip"}))
    await wire.writer.drain()


FAULTS: list[Any] = [reset, half_a_head, half_a_body, no_http, two_lengths, broken_pack]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_on_the_wire_is_a_dependency_that_failed(fault: Answering) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"a": 1})
        assert result.error.error_class == "dependency_unavailable"
        assert result.error.native_error_ref in ("http:unreachable", "http:broken")
        assert result.error.retry.retry_safe is False  # a payment may have gone through
        assert len(server.seen) == 1

    told(story, fault, "POST /pay", kind="action", takes={"a": ANY})


def test_bytes_after_an_answer_do_not_become_the_next_one() -> None:
    async def story(call: Any, server: Server) -> None:
        for _ in range(3):
            result = await call()
            assert result.error is not None or result.structured_content == {"a": 1}

    told(story, too_much)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_tried_again_where_nothing_can_be_done_twice(fault: Answering) -> None:
    async def serve(seen: Seen, wire: Wire) -> bytes | None:
        times.append(1)
        return await fault(seen, wire) if len(times) < 3 else OK

    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.structured_content == {"ok": True}, result.error

    times: list[int] = []
    told(story, serve, retry_policy=QUICK)


def test_attempts_count_the_first_call_and_one_is_one() -> None:
    """AML-43."""

    async def third(call: Any, server: Server) -> None:
        assert (await call()).status == "succeeded"
        assert len(server.seen) == 3

    async def single(call: Any, server: Server) -> None:
        assert (await call()).error.native_error_ref == "http:503"
        assert len(server.seen) == 1

    told(third, [answer(503), answer(429), OK], retry_policy={"backoff_ms": 1})
    told(third, [answer(503), answer(503), OK], retry_policy={"backoff_ms": 1, "max_attempts": 3, "on_status": [503]})
    told(single, [answer(503), OK], retry_policy={"max_attempts": 1, "on_status": [503]})
    told(single, [answer(503), OK], retry_policy={"on_status": []})


def test_waits_that_are_written_are_kept_and_double() -> None:
    """AML-45."""

    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "succeeded"
        rows = await call.app.store.rows_of(result.invocation_id)
        waits = [
            attempt[5] for attempt in rows[-1].segment().notes["attempts"]
        ]  # a call that takes long has rows before
        assert len(waits) == 3
        for wait, least in zip(waits, (0.02, 0.04, 0.08), strict=True):
            assert least <= wait <= 1.25 * least + 0.001

    policy = {"max_attempts": 4, "on_status": [503], "backoff_ms": 20}
    told(story, [answer(503), answer(503), answer(503), OK], retry_policy=policy)


@pytest.mark.parametrize(("kind", "attempts"), [("retrieval", 2), ("function", 2), ("action", 1)])
def test_without_statuses_only_what_reads_is_tried_again(kind: str, attempts: int) -> None:
    """AML-44."""

    async def story(call: Any, server: Server) -> None:
        await call()
        assert len(server.seen) == attempts

    told(story, [answer(503), OK], "POST /x", kind=kind, retry_policy={"backoff_ms": 1})
    told(story, [answer(503), OK], "PUT /x", kind=kind, retry_policy={"backoff_ms": 1})


def test_what_the_author_wrote_is_done() -> None:
    """AML-46: with a warning of `ferrule check`, an action is sent again on the statuses that are listed."""

    async def listed(call: Any, server: Server) -> None:
        assert (await call({"a": 1})).status == "succeeded"
        assert [seen.body for seen in server.seen] == [b'{"a":1}'] * 2

    async def unlisted(call: Any, server: Server) -> None:
        assert (await call({"a": 1})).error.native_error_ref == "http:500"
        assert len(server.seen) == 1

    policy = {"max_attempts": 3, "on_status": [409, 503], "backoff_ms": 1}
    told(listed, [answer(409), OK], "POST /x", kind="action", takes={"a": ANY}, retry_policy=policy)
    told(unlisted, [answer(500), OK], "POST /x", kind="action", takes={"a": ANY}, retry_policy=policy)
    told(unlisted, [answer(500), OK], "GET /x", takes={"a": ANY}, retry_policy=policy)


def test_an_idempotency_key_is_sent_with_every_attempt_and_makes_a_fault_repeatable() -> None:
    async def serve(seen: Seen, wire: Wire) -> bytes | None:
        times.append(1)
        if len(times) > 1:
            return OK
        await half_a_body(seen, wire)
        return None

    async def story(call: Any, server: Server) -> None:
        assert (await call({"a": 1}, idempotency_key="k-1")).status == "succeeded"
        assert [seen.headers["idempotency-key"] for seen in server.seen] == ["k-1", "k-1"]
        await call({"a": 2})
        assert "idempotency-key" not in server.seen[2].headers

    async def renamed(call: Any, server: Server) -> None:
        await call({"a": 1}, idempotency_key="k-2")
        assert server.seen[0].headers["x-once"] == "k-2"

    async def mapped(call: Any, server: Server) -> None:
        await call({"a": "mine"}, idempotency_key="k-3")
        assert server.seen[0].headers["idempotency-key"] == "mine"

    async def hostile(call: Any, server: Server) -> None:
        result = await call({"a": 1}, idempotency_key="k\r\nX-Evil: 1")
        assert result.error is not None
        assert server.seen == []

    times: list[int] = []
    pay: dict[str, Any] = {"kind": "action", "takes": {"a": ANY}}
    told(story, serve, "POST /pay", retry_policy=QUICK, **pay)
    told(renamed, OK, "POST /pay", x_idempotency_header="X-Once", **pay)
    told(mapped, OK, "POST /pay", x_headers={"Idempotency-Key": "{a}"}, **pay)
    told(hostile, OK, "POST /pay", **pay)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "GET", "POST", "PATCH"])
def test_an_action_is_not_repeatable_whatever_its_method(method: str) -> None:
    """AML-19: that a method may be sent twice does not make a side effect harmless."""

    async def story(call: Any, server: Server) -> None:
        run = run_of(call.app)
        assert run.is_repeatable is False
        assert run.upstream == f"http://127.0.0.1:{server.port}"
        result = await call()
        assert (result.error.error_class, result.error.retry.retry_safe) == ("dependency_unavailable", False)
        assert len(server.seen) == 1

    async def broken(seen: Seen, wire: Wire) -> None:
        wire.reset()

    told(story, broken, f"{method} /x", kind="action", retry_policy={"on_status": [503], "backoff_ms": 1})


def test_a_reading_tool_is_repeatable_whatever_its_method() -> None:
    async def story(call: Any, server: Server) -> None:
        assert run_of(call.app).is_repeatable is True

    told(story, OK, "POST /search")


def test_whoever_asks_to_be_left_alone_is_left_alone() -> None:
    async def waited(call: Any, server: Server) -> None:
        started = time.monotonic()
        assert (await call()).status == "succeeded"
        assert time.monotonic() - started >= 0.3

    async def told_later(call: Any, server: Server) -> None:
        result = await call()
        assert result.error.error_class == "rate_limited"
        assert 100 < result.error.retry_after <= 3600
        assert len(server.seen) == 1

    told(waited, [answer(429, headers={"Retry-After": "0.3"}), OK], retry_policy=QUICK)
    for said in ("3600", formatdate(time.time() + 3600, usegmt=True)):
        told(told_later, [answer(429, headers={"Retry-After": said}), OK], retry_policy=QUICK)


def test_a_slow_drip_ends_when_the_time_of_the_call_does() -> None:
    """AML-42: `timeout_ms` is the time of the whole call, attempts and waits included."""

    async def drip(seen: Seen, wire: Wire) -> bytes | None:
        wire.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        try:
            while not wire.writer.is_closing():
                wire.writer.write(b"1")
                await wire.writer.drain()
                await asyncio.sleep(0.01)
        finally:
            gone.set()
        return None

    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.status == "timed_out"
        await asyncio.wait_for(gone.wait(), 5)
        assert len(server.seen) == 1

    gone = asyncio.Event()
    told(story, drip, timeout_ms=200, retry_policy=QUICK)


def test_a_deadline_is_kept_without_anybody_watching() -> None:
    async def silent(seen: Seen, wire: Wire) -> bytes | None:
        await wire.reader.read()
        return None

    async def story(call: Any, server: Server) -> None:
        with pytest.raises(ExecutionFailed) as caught:
            await run_of(call.app)({}, context(deadline=asyncio.get_running_loop().time() + 0.05))
        assert caught.value.error_class == "timeout"

    told(story, silent)


def test_five_seconds_unless_said() -> None:
    """AML-42."""

    async def story(call: Any, server: Server) -> None:
        entry = call.surface.surface.entries["the-tool"]
        assert read_traits(entry).timeout_seconds == 5.0

    told(story, OK)


def test_a_wait_that_the_time_of_the_call_does_not_allow_is_not_begun() -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call()
        assert result.error.error_class == "rate_limited"
        assert result.error.retry_after == 10.0
        assert len(server.seen) == 1

    told(story, [answer(429, headers={"Retry-After": "10"}), OK], timeout_ms=2000, retry_policy=QUICK)


def test_a_system_that_fails_again_and_again_is_left_alone_by_all_its_tools() -> None:
    async def story(call: Any, server: Server) -> None:
        for _ in range(3):
            assert (await call()).error.error_code == "http_500"
        result = await call()
        assert (result.error.error_class, result.error.error_code) == ("dependency_unavailable", "circuit_open")
        assert f"http://127.0.0.1:{server.port}" in result.error.message
        assert len(server.seen) == 3

    told(story, answer(500), retry_policy=ONCE, retries=RetrySettings(breaker_failures=3))


def test_answers_that_show_that_a_system_works_do_not_open_the_breaker() -> None:
    async def story(call: Any, server: Server) -> None:
        for _ in range(6):
            assert (await call()).error.error_code == "http_404"
        assert len(server.seen) == 6

    told(story, answer(404), retries=RetrySettings(breaker_failures=3))


def test_an_action_that_certainly_did_not_arrive_can_be_called_again() -> None:
    """AT-242: whoever was never reached did nothing; whoever broke off, or sent us on, may have."""

    async def nobody(call: Any, server: Server) -> None:
        await server.aclose()
        error = (await call()).error
        assert (error.error_code, error.retry.retry_safe, error.recoverability) == ("unreachable", True, "retry_later")

    async def perhaps(call: Any, server: Server) -> None:
        error = (await call()).error
        assert (error.error_class, error.retry.retry_safe) == ("dependency_unavailable", False)

    told(nobody, answer(200), "POST /x", kind="action")
    told(perhaps, reset, "POST /x", kind="action")
    elsewhere = answer(303, b"", {"Location": "http://127.0.0.1:1/"})
    told(perhaps, elsewhere, "POST /x", kind="action")
