"""Places where a secret could slip into what is told of a call beside its input and its output: each by itself."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Waiting
from ferrule.contracts.hook import HookFailed, HookOutput
from ferrule.errors import InboxError
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Result
from ferrule.runtime.functions import tool
from ferrule.runtime.pipeline.redaction import guard_logs
from tests.runtime.pipeline.hooks.hooked import hook, look
from tests.runtime.pipeline.secret_app import ANY, KNOWN, SECRET, check_outcome, is_clean, is_told, scene_with_secrets
from tests.spec.running_app import make_tool, run_async

PERSON = Identity("bob", "token:bob", frozenset({APPROVE}))
LARGE = 60 * 1024


@run_async
async def test_how_hooks_fail() -> None:
    def fail(told: Any) -> HookOutput:
        raise HookFailed(f"no answer for {SECRET}")

    for event in ("pre_tool_use", "post_tool_use", "result_persistence"):
        async with scene_with_secrets(look, hooks=[hook(fail, event)]) as on:
            result = await check_outcome(on, await on.surface.call("look"))
            assert isinstance(result, Result)
            assert result.error is not None
            assert "no answer for [REDACTED]" in result.error.message


@run_async
async def test_codes_and_native_references_of_failures() -> None:
    """AT-245"""
    failed = ExecutionFailed("execution_failed", "no", code=f"code {SECRET}", native_error_ref=SECRET)
    async with scene_with_secrets(make_tool(schema=ANY), script={"shop.search": failed}) as on:
        result = await check_outcome(on, await on.call())
        assert isinstance(result, Result)
        assert result.error is not None
        assert result.error.error_code == "code [REDACTED]"


@run_async
async def test_a_call_that_goes_to_the_background() -> None:
    @tool(read_only=True)
    async def wander(context: Context) -> str:
        """Goes on by itself."""
        context.to_background(SECRET, f"see {SECRET}")
        return "done"

    async with scene_with_secrets(wander) as on:
        outcome = await check_outcome(on, await on.surface.call("wander"))
        assert "[REDACTED]" in getattr(outcome, "message", "[REDACTED]")


@run_async
async def test_what_a_tool_asks_leaves_behind_and_is_answered() -> None:
    """The tool gets its state and the answer as they were; nobody else does."""
    schema = {"type": "object", "description": SECRET}
    asked = Waiting(message=f"what of {SECRET}?", state=SECRET.encode(), answer_schema=schema)
    async with scene_with_secrets(make_tool("act", ANY), script={"shop.act": [asked]}) as on:
        pending = await check_outcome(on, await on.park("act", {"n": 1}))
        inbox = on.app.inbox(PERSON)
        assert not is_told(await inbox.get(pending.invocation_id))
        answered = await inbox.answer(pending.invocation_id, {"is": SECRET}, reason=f"it is {SECRET}")
        assert on.executor.answers == [{"is": SECRET}]
        assert isinstance(answered.result, Result)
        assert answered.result.structured_content == {"state": "[REDACTED]", "answer": {"is": "[REDACTED]"}}
        assert answered.result.input_mutations == (), "an answer is no change of the input"
        assert (await on.read_record(pending))["model_input"] == {"n": 1}
        await check_outcome(on, answered.result)


@run_async
async def test_an_answer_that_its_schema_calls_sensitive() -> None:
    """It is in no record, and in nothing that the tool says of it."""
    schema = {"type": "object", "properties": {"pin": {"type": "string", "format": "password", "maxLength": 20}}}
    asked = Waiting(message="your pin?", state=b"s", answer_schema=schema)
    async with scene_with_secrets(make_tool("act", ANY), script={"shop.act": [asked]}) as on:
        pending = await on.park("act", {})
        inbox = on.app.inbox(PERSON)
        with pytest.raises(InboxError) as refused:
            await inbox.answer(pending.invocation_id, {"pin": "pin-98765-much-too-long"})
        assert "98765" not in str(refused.value)
        answered = await inbox.answer(pending.invocation_id, {"pin": "pin-98765-43210"})
        assert on.executor.answers == [{"pin": "pin-98765-43210"}]
        assert isinstance(answered.result, Result)
        assert answered.result.structured_content["answer"] == {"pin": "[REDACTED]"}
        assert await is_clean(on, "pin-98765-43210")


@run_async
async def test_names_that_nobody_knows() -> None:
    async with scene_with_secrets(make_tool()) as on:
        await check_outcome(on, await on.call(f"tool {SECRET}", {}))
        long = "x" * 250 + SECRET
        result = await check_outcome(on, await on.call(long, {}))
        assert isinstance(result, Result)
        assert result.error is not None
        assert "c4nary" not in result.error.message, "not half of it either"


@run_async
async def test_names_and_kinds_of_what_is_stored() -> None:
    def pour(arguments: Any) -> Output:
        return Output(stream=iter([b"x" * 10]), media_type=f"text/x; of={SECRET}", file_name=f"{SECRET}.txt")

    @tool(read_only=True)
    def write(context: Context) -> str:
        """Writes."""
        writer = context.open_output(f"text/{SECRET}", SECRET)
        writer.write(b"x")
        return str(writer.close().ref)

    payloads = MemoryPayloads(lambda: 0)
    async with scene_with_secrets(make_tool(schema=ANY), write, script={"shop.search": pour}, payloads=payloads) as on:
        for name in ("search", "write"):
            await check_outcome(on, await on.surface.call(name, {}))


@pytest.mark.parametrize("is_private", [True, False])
@run_async
async def test_bytes_of_several_blocks(is_private: bool) -> None:
    """What they carry is looked through as the bytes it is, in whatever they are kept."""
    inner = f"key={SECRET} or {SECRET.encode().hex()}".encode()
    blocks = (
        {"type": "text", "text": "two files"},
        {"type": "file", "data": inner + bytes(LARGE)},
        {"type": "image", "data": base64.b64encode(inner).decode()},
        {"type": "resource", "resource": {"uri": "x:y", "blob": base64.b64encode(inner).decode()}},
    )
    payloads = MemoryPayloads(lambda: 0)
    given = Output(content=blocks, is_private=is_private)
    async with scene_with_secrets(make_tool(schema=ANY), script={"shop.search": given}, payloads=payloads) as on:
        result = await check_outcome(on, await on.call())
        assert isinstance(result, Result)
        if result.native_output_ref is not None:
            stored = await on.app.payload(result.native_output_ref)
            assert not KNOWN.may_hold(stored)
            for block in json.loads(stored)["content"]:
                data = block.get("data") or block.get("resource", {}).get("blob") or ""
                assert SECRET.encode() not in base64.b64decode(data)
                assert SECRET.encode().hex().encode() not in base64.b64decode(data)


@run_async
async def test_the_message_of_a_failure_whose_output_is_dropped() -> None:
    failed = ExecutionFailed("partial_failure", f"no: {SECRET}", output=Output("y" * 500))
    dropping = make_tool(schema=ANY, output_contract={"persistence_policy": "drop_with_reason", "max_inline_chars": 50})
    async with scene_with_secrets(dropping, script={"shop.search": failed}) as on:
        await check_outcome(on, await on.call())


@run_async
async def test_a_value_that_lost_something_is_json_still() -> None:
    async with scene_with_secrets(make_tool(schema=ANY), default={"a": [f"{SECRET}\n", 7]}) as on:
        result = await on.call()
        assert json.loads(result.text) == result.structured_content == {"a": ["[REDACTED]\n", 7]}


@run_async
async def test_nothing_is_told_of_a_result_that_could_not_be_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the redactor itself is no way out."""

    def broken(value: Any, also: Any = ()) -> Any:
        raise RuntimeError("a mistake")

    async with scene_with_secrets(make_tool(schema=ANY), default=f"it is {SECRET}") as on:
        monkeypatch.setattr(on.app.services.redactor, "value", broken)
        result = await on.call(native_call_id=SECRET)
        assert result.error is not None
        assert result.error.error_code == "internal_error"
        assert not is_told(result)
        assert await is_clean(on)


# Messages that are cut short


@run_async
async def test_a_long_message_is_looked_through_before_it_is_cut() -> None:
    """AT-245"""
    for before in range(7_990, 8_000):
        failed = ExecutionFailed("execution_failed", "z" * before + SECRET + "z" * 100)
        async with scene_with_secrets(make_tool(schema=ANY), script={"shop.search": failed}) as on:
            result = await on.call()
            assert result.error is not None
            assert "c4" not in result.error.message


# Log lines


@run_async
async def test_log_lines_of_a_tool_have_none_of_its_own_secrets() -> None:
    """AT-84: what is secret for one call alone, in the lines written while it runs, on every way of running."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record) + repr(record.__dict__))

    log = logging.getLogger("ferrule.tools.untold")
    handler = Keep()
    logging.getLogger("ferrule").addHandler(handler)
    before = logging.getLogger("ferrule").level
    logging.getLogger("ferrule").setLevel(logging.DEBUG)

    def tell(card: str) -> str:
        log.warning("card %s", card, extra={"told": {"card": card}})
        raise RuntimeError(f"no money on {card}")

    @tool(read_only=True, sensitive=("card",))
    async def one(card: str) -> str:
        """Async."""
        return tell(card)

    @tool(read_only=True, sensitive=("card",))
    def two(card: str) -> str:
        """In a thread."""
        return tell(card)

    @tool(read_only=True, sensitive=("card",), inline=True)
    def three(card: str) -> str:
        """At once."""
        return tell(card)

    @tool(read_only=True)
    def four(order: str, context: Context) -> str:
        """Hides by itself."""
        context.hide(order)
        return tell(order)

    release = guard_logs(KNOWN)
    try:
        async with scene_with_secrets(one, two, three, four) as on:
            for name in ("one", "two", "three"):
                await on.call(name, {"card": "4111-2222-3333"})
            await on.call("four", {"order": "4111-2222-3333"})
    finally:
        release()
        logging.getLogger("ferrule").removeHandler(handler)
        logging.getLogger("ferrule").setLevel(before)
    text = "\n".join(written)
    assert text.count("no money on [REDACTED]") >= 4
    assert "4111-" not in text


@run_async
async def test_what_a_function_raised_is_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    """AT-84: known secrets, and what is secret for this call alone."""

    @tool(read_only=True, sensitive=("card",))
    def pay(card: str) -> str:
        """Pay."""
        raise KeyError(f"{card} with {SECRET}, at the till")

    release = guard_logs(KNOWN)
    try:
        async with scene_with_secrets(pay) as on:
            await on.call("pay", {"card": "4111-2222-3333"})
    finally:
        release()
    assert "tool 'pay' failed: KeyError: '[REDACTED] with [REDACTED], at the till'" in caplog.text
    assert "4111-" not in caplog.text and SECRET not in caplog.text
