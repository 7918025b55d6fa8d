"""Known secrets in calls: the tool gets them, nothing that is kept, shown or told does."""

from __future__ import annotations

import base64
import logging
from typing import Any

import msgspec
import pytest

from ferrule.contracts.executor import ExecutionFailed, Waiting
from ferrule.model.persistence import RedactionSettings
from ferrule.runtime.pipeline.inputs import redact_input
from ferrule.runtime.pipeline.redaction import RedactingFilter, guard_logs
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.runtime.redaction.sensitive_input import Mask
from tests.runtime.pipeline.arguments.contracts import fields, tool
from tests.runtime.pipeline.secret_app import (
    ANY,
    GITHUB,
    KNOWN,
    SECRET,
    is_clean,
    list_spellings_of,
    read_stored,
    scene_with_secrets,
)
from tests.spec.running_app import make_tool, run_async, running_app

ASK = 'mode = "trusted"\n[[rules]]\ndecision = "ask"\ntool = "*"\n'


@pytest.mark.parametrize("name", ["pya", "pay@9.9.9", "shop.pay@9.9.9"])
@run_async
async def test_of_a_call_that_leads_nowhere_only_the_names_of_its_arguments_are_stored(name: str) -> None:
    """AT-84, AT-90: no schema says what in it is sensitive."""
    async with running_app(make_tool("pay", fields(password={"type": "string", "sensitive": True}))) as on:
        for sent in ({"password": "hunter2", "to": {"hunter2": ["hunter2"]}}, b'["hunter2"]', b"hunter2"):
            failed = await on.call(name, sent)
            assert failed.error is not None and failed.error.error_class == "unknown_tool"
        everything = await read_stored(on)
        assert b"hunter2" not in everything
        assert b'{"password":"[REDACTED]","to":"[REDACTED]"}' in everything


@run_async
async def test_a_known_secret_in_an_ordinary_argument_is_run_and_not_stored() -> None:
    """AT-84, AT-253, AT-271"""
    arguments = {"note": f"use {SECRET}", "header": base64.b64encode(f"x:{SECRET}".encode()).decode(), "more": [GITHUB]}
    async with scene_with_secrets(make_tool(schema=ANY, is_read_only=True), make_tool("act", ANY)) as on:
        for name in ("search", "act"):
            result = await on.call(name, arguments)
            assert on.executor.ran[-1].arguments == arguments
            record = await on.read_record(result)
            assert record["model_input"]["note"] == "use [REDACTED]"
            assert record["model_input"]["more"] == ["[REDACTED]"]
        assert await is_clean(on)
        for level in ("standard", "full"):
            told = msgspec.json.encode([event.to_record() for event in await on.read_events(level=level)])
            assert not any(form in told for form in list_spellings_of(SECRET) + list_spellings_of(GITHUB))
            assert (b"[REDACTED]" in told) == (level == "full")


@run_async
async def test_arguments_for_a_tool_that_does_not_exist_are_cleaned_too() -> None:
    async with scene_with_secrets(make_tool()) as on:
        result = await on.call("nonesuch", {"token": SECRET, "deep": {SECRET: [GITHUB]}})
        assert result.error is not None
        assert await is_clean(on)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": "c4nary\\u002f\\u00227\\"-of-the-shop"}',
        b'{"a": "c4nary/\\"7\\"-of-the-shop", "a": "x"}',
        b'{"a": {"b": "\\u00634nary/\\"7\\"-of-the-shop"}, "a": 1}',
        b'not json: c4nary/"7"-of-the-shop',
        b'[' * 3000 + b'"c4nary/\\"7\\"-of-the-shop"',
    ],
)  # fmt: skip
def test_no_spelling_of_json_is_a_way_around(raw: bytes) -> None:
    stored = redact_input(raw, None, KNOWN)
    assert b"4nary" not in stored


def test_what_holds_nothing_is_stored_as_it_came() -> None:
    for raw in (b'{ "a" : "x\\u0079\\n" }', b'{"a":1,"a":2}', b"nonsense", b"", b'{"a":"caf\xc3\xa9"}'):
        assert redact_input(raw, None, KNOWN) is raw


def test_a_sensitive_value_that_is_repeated_elsewhere_is_taken_out_there_too() -> None:
    mask = Mask.of(
        tool(fields(card={"type": "string", "sensitive": True}, note={"type": "string"}, n={"type": "integer"}))
    )
    raw = b'{"card":"4111-1111-1111","note":"card 4111-1111-1111","n":5}'
    assert redact_input(raw, mask, None) == b'{"card":"[REDACTED]","note":"card [REDACTED]","n":5}'
    assert redact_input(b'{"card":"5","note":"5 of 5"}', mask, None) == b'{"card":"[REDACTED]","note":"5 of 5"}'


@run_async
async def test_an_approved_call_runs_with_the_true_value() -> None:
    """What people see has no secret in it, and what runs has."""
    arguments = {"command": f"curl -H 'X-Key: {SECRET}' https://shop.example", "n": 1}
    async with scene_with_secrets(make_tool("act", ANY), policy=ASK) as on:
        pending = await on.park("act", arguments)
        assert await is_clean(on)
        seen: list[Any] = []

        def look(item: Any) -> bool:
            seen.append(item.input)
            return True

        result = await on.answer(look)
        assert result.status == "succeeded"
        assert on.executor.ran[-1].arguments == arguments
        assert seen[0]["command"] == "curl -H 'X-Key: [REDACTED]' https://shop.example"
        assert await is_clean(on)
        assert (await on.read_record(pending))["status"] == "succeeded"


@run_async
async def test_an_approver_may_change_what_stands_beside_a_secret() -> None:
    async with scene_with_secrets(make_tool("act", ANY), policy=ASK) as on:
        await on.park("act", {"token": SECRET, "n": 1})
        result = await on.answer({"token": "[REDACTED]", "n": 2})
        assert result.status == "succeeded"
        assert on.executor.ran[-1].arguments == {"token": SECRET, "n": 2}
        assert await is_clean(on)


@run_async
async def test_a_secret_that_an_approver_types_is_not_stored_either() -> None:
    async with scene_with_secrets(make_tool("act", ANY), policy=ASK) as on:
        await on.park("act", {"n": 1})
        result = await on.answer({"token": SECRET})
        assert result.status == "succeeded"
        assert on.executor.ran[-1].arguments == {"token": SECRET}
        assert await is_clean(on)


@run_async
async def test_a_call_that_waits_while_it_runs_goes_on_with_the_true_value() -> None:
    """Its first row was written before anybody knew that it would wait."""
    script = {"shop.act": [Waiting(message="how many?", state=b"state"), "done"]}
    async with scene_with_secrets(make_tool("act", ANY), script=script) as on:
        await on.park("act", {"token": SECRET})
        assert await is_clean(on)
        payloads = [row.inputs() for row in await on.app.store.rows_after(0, 100)]
        sealed = [payload.sealed_input for payload in payloads if payload is not None and payload.sealed_input]
        assert len(sealed) == 1


@run_async
async def test_errors_lose_sensitive_values_in_every_spelling() -> None:
    """AT-245, AT-233"""
    secret = "s3nsitive value/7"
    contract = {"sensitive_fields": ["token"]}
    said = f"401 for {base64.b64encode(f'ada:{secret}'.encode()).decode()} and {secret.encode().hex()}"
    failed = ExecutionFailed("execution_failed", said)
    async with scene_with_secrets(make_tool("act", ANY, input_contract=contract), script={"shop.act": failed}) as on:
        result = await on.call("act", {"token": secret})
        assert result.error is not None
        assert result.error.message.count("[REDACTED]") == 2
        assert await is_clean(on, secret)


# Log lines


def lines(redactor: KnownSecrets, log: Any) -> str:
    """What a handler with the filter writes."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Keep()
    handler.addFilter(RedactingFilter(redactor))
    logger = logging.Logger("ferrule.test")
    logger.addHandler(handler)
    log(logger)
    return "\n".join(written)


def test_log_lines_have_no_secrets() -> None:
    """AT-84, AT-245: message, arguments, the text of an exception, its cause, and what else a record carries."""

    def log(logger: logging.Logger) -> None:
        logger.warning("token %s and %r", SECRET, {"t": SECRET})
        logger.warning("plain %(a)s", {"a": GITHUB})
        try:
            try:
                raise ValueError(f"inner {SECRET}")
            except ValueError as error:
                raise KeyError(f"outer {SECRET}") from error
        except KeyError:
            logger.exception("failed", stack_info=True)

    text = lines(KNOWN, log)
    assert not any(form.decode() in text for form in (*list_spellings_of(SECRET), *list_spellings_of(GITHUB)))
    assert text.count("[REDACTED]") >= 5
    assert "Traceback" in text


def test_a_line_without_secrets_stays_as_it_is() -> None:
    text = lines(KNOWN, lambda logger: logger.warning("order %d of %s", 5, "ann"))
    assert text == "order 5 of ann"


def test_a_line_that_cannot_be_written_tells_nothing() -> None:
    text = lines(KNOWN, lambda logger: logger.warning("%d", SECRET))
    assert "c4nary" not in text
    assert "could not be looked through" in text


def test_what_others_wrote_begins_no_line_of_a_guarded_log(caplog: pytest.LogCaptureFixture) -> None:
    key = "-----begin\nof-the-shop\nend-----"
    release = guard_logs(KnownSecrets(RedactionSettings(secrets_env=("KEY",)), {"KEY": key}))
    evil = f"a\tb\r\n2026-01-01 WARNING refused: forged\x1b[31m\u2028{key}"
    try:
        logging.getLogger("ferrule.tools").error("tool %r failed: %s", "x", evil)
        try:
            raise ValueError(evil)
        except ValueError:
            logging.getLogger("ferrule.tools").exception("failed")
    finally:
        release()
    first, *others = caplog.messages[0].split("\n")
    assert first == r"tool 'x' failed: a	b\r"
    assert others == [r"    2026-01-01 WARNING refused: forged\x1b[31m\u2028[REDACTED]"]
    lines = caplog.text.splitlines()
    assert all(line.startswith(("ERROR", "    ")) for line in lines) and "of-the-shop" not in caplog.text
    assert any(line.strip() == "Traceback (most recent call last):" for line in lines)


def test_guarded_logs_lose_secrets_of_every_app_and_only_ours(caplog: pytest.LogCaptureFixture) -> None:
    other = KnownSecrets(RedactionSettings(secrets_env=("B",)), {"B": "another-secret"})
    before = logging.getLogRecordFactory()
    one, two = guard_logs(KNOWN), guard_logs(other)
    ours = logging.getLogger("ferrule.tools.made-later")
    ours.warning("%s and %s", SECRET, "another-secret")
    logging.getLogger("ferrules").warning("not ours: %s", SECRET)
    one()
    one()
    ours.warning("%s and %s", "left", "another-secret")
    two()
    ours.warning("%s", "another-secret")
    assert caplog.messages == [
        "[REDACTED] and [REDACTED]",
        f"not ours: {SECRET}",
        "left and [REDACTED]",
        "another-secret",
    ]
    assert logging.getLogRecordFactory() is before


def test_what_a_record_carries_besides_is_cleaned() -> None:
    record = logging.makeLogRecord({"msg": "x", "ferrule_event": {"data": [SECRET]}})
    assert RedactingFilter(KNOWN).filter(record)
    assert record.__dict__["ferrule_event"] == {"data": ["[REDACTED]"]}
