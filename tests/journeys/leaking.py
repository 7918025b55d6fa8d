"""Tools and hooks that tell every secret they know, in every place where something can be told."""

from __future__ import annotations

import asyncio
import base64
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support, Waiting
from ferrule.contracts.hook import HookFailed, HookInput, HookOutput
from ferrule.contracts.payloads import payload_block
from ferrule.model.tool import Tool
from ferrule.runtime.functions import Inject, ToolFailed, tool
from ferrule.runtime.hooks.function import hook
from tests.journeys.canaries import Canary, Spill

LARGE = 60 * 1024
"""Bytes that a block keeps raw."""


class Chatter:
    """The tools, what they were given, and what they know."""

    def __init__(self, spill: Spill, hidden: list[Canary]) -> None:
        self.spill = spill
        self.hidden = hidden
        self.given: list[Any] = []
        self.config: list[Any] = []
        self.release = threading.Event()

    def tools(self) -> list[Any]:
        """All of them."""
        made = [*self._values(), *self._blocks(), *self._failures(), *self._talk(), *self._streams(), *self._waits()]
        return [*made, *self._private(), *self._injected()]

    def _values(self) -> Iterator[Any]:
        spill = self.spill

        @tool(read_only=True, inline=True)
        def say_text() -> str:
            """Text, at once."""
            return spill.text()

        @tool(read_only=True)
        def say_value() -> Any:
            """A value, from a thread."""
            return spill.value()

        @tool(read_only=False)
        async def say_deep() -> Any:
            """Values in values."""
            return [spill.value(), {"more": [spill.value()]}, spill.short()]

        @tool(read_only=True)
        async def say_much() -> str:
            """More than is shown."""
            return "".join(spill.text() + "x" * 5_000 for _ in range(30))

        @tool(read_only=True)
        async def say_much_value() -> Any:
            """A value larger than is shown."""
            return [{"row": number, "is": spill.value(), "pad": "y" * 3_000} for number in range(40)]

        @tool(read_only=True)
        async def say_wrong() -> dict[str, int]:
            """What its schema does not promise."""
            return {spill.short(): spill.text()}  # type: ignore[dict-item]

        @tool(read_only=True)
        async def say_everywhere() -> Any:
            """In everything that goes with an output."""
            ref = {"id": spill.short(), "uri": f"https://x.example/?k={spill.short()}", "media_type": "text/plain"}
            return Output(
                spill.value(),
                ui_summary=spill.text(),
                search_text=spill.text(),
                native_refs=({"source": "x", "request": spill.short(), spill.short(): 1},),
                artifact_refs=(ref, {"id": "a", "path": spill.short(), "note": spill.value()}),
                resource_refs=(ref,),
                context_modifiers=({"set": {spill.short(): 1}}, {"unset": [spill.short()]}),
            )

        yield from (say_text, say_value, say_deep, say_much, say_much_value, say_wrong, say_everywhere)

    def _blocks(self) -> Iterator[Any]:
        spill = self.spill

        def blocks(size: int = 0) -> tuple[dict[str, Any], ...]:
            coded = base64.b64encode(spill.data(size)).decode()
            return (
                {"type": "text", "text": spill.text(), "annotations": spill.value()},
                {"type": "image", "data": coded, "mimeType": "image/png", "name": spill.short()},
                {"type": "audio", "data": spill.data(size), "mime_type": "audio/wav", "alt": spill.text()},
                {"type": "resource", "resource": {"uri": spill.short(), "text": spill.text()}},
                {"type": "resource", "resource": {"uri": "x:y", "blob": coded, "mimeType": spill.short()}},
                {"type": "resource_link", "uri": f"https://x.example/{spill.short()}", "name": spill.short()},
                {"type": spill.short(), "what": spill.value()},
            )

        @tool(read_only=True)
        async def show_blocks() -> Any:
            """Content blocks of all kinds."""
            return Output(spill.value(), content=blocks())

        @tool(read_only=True)
        async def show_large() -> Any:
            """The same, too large to show."""
            return Output(None, content=blocks(LARGE))

        @tool(read_only=True)
        async def show_picture() -> Any:
            """One picture, raw."""
            return Output(content=({"type": "image", "data": spill.data(LARGE), "mimeType": spill.short()},))

        yield from (show_blocks, show_large, show_picture)

    def _private(self) -> Iterator[Any]:
        spill = self.spill

        @tool(read_only=True)
        async def keep_private() -> Any:
            """Private blocks."""
            return Output(content=({"type": "text", "text": spill.text()}, {"type": "x", "data": spill.data(LARGE)}),
                          is_private=True)  # fmt: skip

        @tool(read_only=True)
        async def keep_value() -> Any:
            """A private value."""
            return Output(spill.value(), is_private=True)

        yield from (keep_private, keep_value)

    def _failures(self) -> Iterator[Any]:
        spill = self.spill

        @tool(read_only=True, inline=True)
        def fail_inline() -> str:
            """Raises."""
            raise KeyError(spill.text())

        @tool(read_only=True)
        def fail_thread() -> str:
            """Raises, because of something."""
            try:
                raise OSError(5, spill.text(), spill.short())
            except OSError as error:
                raise RuntimeError(spill.text()) from error

        @tool(read_only=True)
        async def fail_group() -> str:
            """Raises several."""
            raise ExceptionGroup(spill.short(), [ValueError(spill.text()), TypeError(spill.short())])

        @tool(read_only=True)
        async def fail_told() -> str:
            """Fails in words."""
            raise ToolFailed(spill.text(), code=spill.short())

        @tool(read_only=True, idempotent=True)
        async def fail_often(context: Context) -> str:
            """Fails, and is tried again."""
            raise ExecutionFailed(
                "dependency_unavailable", spill.text(), code=spill.short(), native_error_ref=spill.short()
            )

        @tool(read_only=True)
        async def fail_partly() -> str:
            """Fails with what it had."""
            output = Output(spill.value(), ui_summary=spill.text(), native_refs=({"x": spill.short()},))
            raise ExecutionFailed("partial_failure", spill.text(), native_error_ref=spill.short(), output=output)

        @tool(read_only=True)
        async def fail_large() -> str:
            """Fails with much."""
            raise ExecutionFailed("partial_failure", spill.text(), output=Output("z" * 300_000 + spill.text()))

        yield from (fail_inline, fail_thread, fail_group, fail_told, fail_often, fail_partly, fail_large)

    def _talk(self) -> Iterator[Any]:
        spill = self.spill

        @tool(read_only=True)
        async def talk(context: Context) -> str:
            """Says how far it is."""
            context.progress(spill.text(), percent=10, current_step=spill.short(), note=spill.value())
            context.progress(task_id=spill.short(), partial_result_refs=[spill.short()], artifact_refs=[spill.value()])
            context.partial(spill.text(), {"type": "text", "text": spill.short()}, {"type": "x", "y": spill.value()})
            context.add_native_ref(source="mcp", request=spill.short(), more=spill.value())
            try:
                context.progress(spill.text(), percent=spill.short())
            except ValueError as error:
                raise ToolFailed(f"no progress: {error}") from error
            return "done"

        @tool(read_only=False)
        async def talk_later(context: Context) -> str:
            """Goes on by itself."""
            context.to_background(spill.short(), spill.text())
            await asyncio.sleep(0.02)
            context.progress(spill.text())
            return spill.text()

        @tool(read_only=True, inline=True)
        def talk_to_log() -> str:
            """Logs."""
            log = logging.getLogger("ferrule.tools.canary")
            log.warning("a line with %s", spill.text())
            log.warning("more: %s", spill.value(), extra={"told": spill.value(), "also": spill.text()})
            try:
                raise ValueError(spill.text())
            except ValueError:
                log.exception("it broke with %r", spill.short(), stack_info=True)
            return "logged"

        @tool(read_only=True)
        async def talk_too_late(context: Context) -> Any:
            """Answers when nobody waits any more."""
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                return Output(
                    content=({"type": "text", "text": spill.text()}, {"type": "x", "data": spill.data(LARGE)})
                )

        @tool(read_only=True)
        async def fail_too_late() -> Any:
            """Fails when nobody waits any more."""
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                raise ExecutionFailed("execution_failed", spill.text(), code=spill.short()) from None

        @tool(read_only=True)
        def crash_too_late(context: Context) -> str:
            """Breaks in its thread when nobody waits any more."""
            self.release.wait(20)
            raise RuntimeError(spill.text())

        yield from (talk, talk_later, talk_to_log, talk_too_late, fail_too_late, crash_too_late)

    def _streams(self) -> Iterator[Any]:
        spill = self.spill

        def single(text: bytes) -> Iterator[bytes]:
            yield from (text[at : at + 1] for at in range(len(text)))

        async def in_pairs(text: bytes) -> AsyncIterator[bytes]:
            for at in range(0, len(text), 3):
                yield text[at : at + 3]

        def broken() -> Iterator[bytes]:
            yield spill.data()
            raise OSError(spill.text())

        @tool(read_only=True)
        async def pour_bytes() -> Any:
            """A stream, a byte at a time."""
            return Output(stream=single(spill.data(100)), media_type="text/plain", file_name=f"{spill.short()}.txt")

        @tool(read_only=True)
        async def pour_async() -> Any:
            """A stream of three bytes at a time."""
            return Output(
                stream=in_pairs(spill.data(100)), media_type=f"text/x; n={spill.short()}", ui_summary=spill.text()
            )

        @tool(read_only=True)
        async def pour_broken() -> Any:
            """A stream that breaks off."""
            return Output(stream=broken(), file_name=spill.short())

        @tool(read_only=True)
        def pour_own(context: Context) -> Any:
            """Writes its own payload."""
            writer = context.open_output(f"text/{spill.short()}", spill.short())
            for chunk in single(spill.data(10)):
                writer.write(chunk)
            left = context.open_output("text/plain", spill.short())
            left.write(spill.data())
            return Output(content=(payload_block(writer.close()), {"type": "text", "text": spill.text()}))

        yield from (pour_bytes, pour_async, pour_broken, pour_own)

    def _waits(self) -> Iterator[Any]:
        spill, hidden = self.spill, self.hidden

        @tool(read_only=False)
        async def ask(context: Context) -> Any:
            """Asks somebody."""
            schema = {"type": "object", "title": spill.text(), "default": spill.value()}
            return context.needs_input(spill.text(), state=spill.data(), answer_schema=schema)

        @ask.resume
        async def answered(state: bytes, answer: Any, context: Context) -> Any:
            self.given.append((state, answer))
            return {"state": state.partition(b"\0")[0].decode(), "answer": answer, "more": spill.text()}

        @tool(read_only=True)
        async def hide(context: Context) -> Any:
            """Says what is secret, and then tells it."""
            for canary in hidden:
                context.hide(canary.value)
            told = Spill(hidden, 5, each=len(hidden))
            context.progress(told.text(), note=told.value() | {"n": None})
            context.partial(told.text())
            writer = context.open_output("text/plain", told.short())
            writer.write(told.data())
            block = payload_block(writer.close())
            return Output(told.text(), ui_summary=told.text(), artifact_refs=({"id": told.short(), **block},))

        @tool(read_only=True)
        async def hide_and_fail(context: Context) -> Any:
            """The same, and raises."""
            for canary in hidden:
                context.hide(canary.value)
            told = Spill(hidden, 6, each=len(hidden))
            raise ExecutionFailed("execution_failed", told.text(), code=told.short(), native_error_ref=told.short())

        @tool(read_only=False, sensitive=("card", "pin"))
        async def pay(card: str, pin: list[str], note: str = "", context: Context = None) -> Any:  # type: ignore[assignment]
            """Takes what is sensitive, and tells it."""
            self.given.append({"card": card, "pin": pin, "note": note})
            told = [
                spell
                for value in (card, *pin)
                for spell in (value, repr(value), base64.b64encode(value.encode()).decode())
            ]
            context.progress(f"got {told}", card=card)
            if note == "fail":
                raise ToolFailed(f"no money on {told}", code=card)
            if note == "break":
                raise RuntimeError(f"no money on {told}")
            return {"paid": told, card: pin}

        @tool(read_only=False)
        async def note(text: str, more: Any = None) -> Any:
            """Takes anything."""
            self.given.append({"text": text, "more": more})
            return {"noted": text, "more": more}

        @tool(read_only=False, approval_required=True)
        async def careful(text: str, more: Any = None) -> Any:
            """Takes anything, once somebody says yes."""
            self.given.append({"text": text, "more": more})
            return {"noted": text, "more": more}

        @tool(read_only=True)
        async def command(text: str) -> str:
            """Has a program as its hook."""
            return f"did {text}"

        @tool(read_only=True)
        async def address(text: str) -> str:
            """Has an address as its hook."""
            return f"did {text}"

        yield from (ask, hide, hide_and_fail, pay, note, careful, command, address)

    def _injected(self) -> Iterator[Any]:
        @tool("clerk.look")
        async def look(
            order: str, keys: Annotated[Any, Inject("config.keys")], logger: Annotated[Any, Inject("logger")]
        ) -> Any:
            """Gets the agent's config."""
            self.config.append(dict(keys))
            logger.warning("the keys are %s", dict(keys))
            return {"order": order, "keys": dict(keys), "as text": str(dict(keys))}

        yield look


def hooks(spill: Spill) -> list[Any]:
    """Hooks of every event that tell what they know. Each is for the tool `note` with one word in its text."""

    def when(word: str, answer: Callable[[], HookOutput]) -> Callable[[HookInput], HookOutput | None]:
        def run(told: HookInput) -> HookOutput | None:
            return answer() if word in str(told.observable_input) else None

        return run

    def failing(told: HookInput) -> HookOutput | None:
        if "hook fails" in str(told.observable_input):
            raise HookFailed(spill.text())
        if "hook breaks" in str(told.observable_input):
            raise RuntimeError(spill.text())
        if "hook misspeaks" in str(told.observable_input):
            return HookOutput(progress=({"percent": spill.short()},))
        return None

    def talk() -> HookOutput:
        return HookOutput(
            messages=(spill.text(),),
            additional_context=({"type": "text", "text": spill.text()}, {"type": "x", "y": spill.value()}),
            progress=({"message": spill.text(), "extra": spill.value()},),
            outcome=spill.value(),
        )

    def word(permission: Any) -> HookOutput:
        return HookOutput(permission=permission, permission_reason=spill.text())

    def stop() -> HookOutput:
        return HookOutput(stop=spill.text(), stop_code=spill.short())

    made = {
        "pre_tool_use": {
            "pre talks": talk,
            "pre stops": stop,
            "pre denies": lambda: word("deny"),
            "pre asks": lambda: word("ask"),
            "pre changes": lambda: HookOutput(updated_input={"text": spill.text(), "more": spill.value()}),
        },
        "permission_decision": {
            "decision talks": talk, "decision stops": stop, "decision denies": lambda: word("deny"),
        },
        "permission_request": {"request talks": talk, "request denies": lambda: word("deny")},
        "post_tool_use": {
            "post talks": talk,
            "post stops": stop,
            "post changes": lambda: HookOutput(updated_output=spill.value()),
            "post swells": lambda: HookOutput(updated_output="w" * 300_000 + spill.text()),
        },
        "post_tool_use_failure": {"late talks": talk, "late stops": stop},
        "result_persistence": {"kept talks": talk, "kept stops": stop},
    }  # fmt: skip
    found: list[Any] = []
    for event, answers in made.items():
        for name, answer in answers.items():
            found.append(hook(event, name=name, tools=["note", "careful", "pay"])(when(name, answer)))  # type: ignore[arg-type]
        found.append(hook(event, name=f"{event} fails", tools=["note"])(_only(event, failing)))  # type: ignore[arg-type]
    return found


def _only(event: str, run: Callable[[HookInput], HookOutput | None]) -> Callable[[HookInput], HookOutput | None]:
    return lambda told: run(told) if event in str(told.observable_input) else None


class Crashing:
    """An executor with a mistake in it: it raises what no executor may. Of its other tools, each fails or gives too much."""

    support = Support(retries=True)

    def __init__(self, spill: Spill) -> None:
        self._spill = spill

    def can_run(self, tool: Tool) -> bool:
        return tool.name in ("crash", "flaky", "drop", "cut")

    def prepare(self, tool: Tool) -> Run:
        spill = self._spill

        async def run(arguments: dict[str, Any], context: Context) -> Output | Waiting:
            told = f"{spill.text()} and {arguments['secret']}"
            if tool.name == "crash":
                raise RuntimeError(told)
            if tool.name == "flaky":
                raise ExecutionFailed(
                    "dependency_unavailable",
                    told,
                    code=spill.short(),
                    native_error_ref=spill.short(),
                    is_retryable=True,
                )
            if tool.name == "drop":
                raise ExecutionFailed("partial_failure", told, output=Output(told * 9, ui_summary=told))
            return Output(told * 9, search_text=told)

        return run

    async def aclose(self) -> None:
        """Nothing to let go of."""


TOLD_BY_GUARDRAILS: list[Spill] = []
"""What the guardrail below tells."""


def judge(told: dict[str, Any]) -> dict[str, Any]:
    """A guardrail that tells why in too many words."""
    about = str(told.get("input", told.get("output")))
    reason = TOLD_BY_GUARDRAILS[0].text()
    return {"score": 10 if f"rail {told['point']}" in about else 0, "reason": reason}
