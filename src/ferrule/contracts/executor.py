"""What reaches the system behind a tool. An executor decides nothing: the pipeline validated, decided and recorded before.

It gets the tool, the final arguments (its own copy) and one context object (AT-114), and gives an `Output`, or a `Waiting`
when somebody has to answer before it can go on. It raises `ExecutionFailed` and nothing else on purpose. While it runs it
speaks through the context: progress, partial results, going to the background; and it is told there to stop.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from ferrule.contracts.payloads import PayloadWriter
from ferrule.model.failure import ErrorClass
from ferrule.model.tool import Tool


class ExecutionFailed(Exception):
    """A tool's failure in the standard's words. The message goes to the model: it holds no secret and no stack trace."""

    def __init__(
        self,
        error_class: ErrorClass,
        message: str,
        *,
        code: str | None = None,
        retry_after: float | None = None,
        native_error_ref: str | None = None,
        output: Output | None = None,
        is_retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.message = message
        self.code = code
        self.retry_after = retry_after
        self.native_error_ref = native_error_ref
        self.output = output
        """What was achieved before a `partial_failure`."""
        self.is_retryable = is_retryable
        """Whether another attempt makes sense; None leaves it to the class."""


class Output(msgspec.Struct, frozen=True, gc=False):
    """What a tool gave, in its own form. The pipeline maps it once."""

    value: Any = None
    """JSON where the tool speaks JSON. `EMPTY` when it gave nothing on purpose."""
    content: tuple[dict[str, Any], ...] | None = None
    """Content blocks, where the protocol has them."""
    native_refs: tuple[dict[str, Any], ...] = ()
    """External mappings of this very call (AT-258)."""
    artifact_refs: tuple[dict[str, Any], ...] = ()
    resource_refs: tuple[dict[str, Any], ...] = ()
    stream: Iterable[bytes] | AsyncIterable[bytes] | None = None
    """Bytes too many to hold: drained into the payload store while the call still runs. Then `value` and `content` are unused."""
    media_type: str = "application/octet-stream"
    """Of `stream`."""
    file_name: str = ""
    """Of `stream`: what to call it when it is saved."""
    context_modifiers: tuple[dict[str, Any], ...] = ()
    """Changes to the surface's context, `{"set": {…}}` or `{"unset": […]}`; applied as the policy allows (AT-118)."""
    ui_summary: str | None = None
    """One line for people; the model does not see it."""
    search_text: str | None = None
    """What a search over transcripts may find of this result."""
    is_private: bool = False
    """True: the model gets a summary and a protected reference, not the content (AT-234)."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that cannot go on until somebody answers. The call is parked; `resume` gets the state and the answer."""

    message: str
    """The question."""
    state: bytes
    """Whatever `resume` needs; stored with the call."""
    answer_schema: dict[str, Any] = {}
    expires_seconds: int = 24 * 3600


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor can do; everything not said is no (AT-194)."""

    progress: bool = False
    cancel: bool = False
    resume: bool = False
    retries: bool = False
    partial_results: bool = False
    background: bool = False
    artifacts: bool = False
    context_modifiers: bool = False
    timeout: bool = True
    result_persistence: bool = True
    credential_delegation: bool = False
    offline: bool = False
    sandboxed: bool = False

    def to_record(self) -> dict[str, bool]:
        """The flags of an execution profile, every one of them said (AT-194)."""
        return {
            name if name == "sandboxed" else f"supports_{name}": value
            for name, value in msgspec.structs.asdict(self).items()
        }


class Wire(Protocol):
    """The pipeline's end of a context. Safe from any thread."""

    def progress(self, facts: dict[str, Any]) -> None:
        """Take one piece of progress. Raises BadProgress."""

    def partial(self, blocks: tuple[dict[str, Any], ...]) -> None:
        """Take a part of the result."""

    def background(self, task_id: str, message: str) -> None:
        """Let whoever waits go; the call goes on."""

    def native(self, ref: dict[str, Any]) -> None:
        """Keep a native id of this very call."""

    def secret(self, value: str) -> None:
        """Keep a value out of everything that is recorded or told about this call."""

    def output(self, media_type: str, name: str) -> PayloadWriter:
        """A writer into the payload store."""


class Context(msgspec.Struct, gc=False):
    """Everything an executor may know and do about the call it runs. One object, so that executors can grow without bending."""

    invocation_id: str
    principal: str
    agent: str | None
    tenant: str
    session: Any = None
    """The caller's surface, for tools that work on it (tool search) or call others."""
    deadline: float | None = None
    """When the call must be over, by the event loop's clock; None when nobody set a limit."""
    idempotency_key: str | None = None
    native_call_id: str | None = None
    credentials: Mapping[str, str] = {}
    """Secrets by name. Never logged, never stored."""
    sandbox: str | None = None
    aborted: bool = False
    """True once the call should stop: timed out or canceled."""
    abort_reason: str | None = None
    """Why: `user_interruption`, `sibling_error`, `timeout`, `fallback`, `runtime_shutdown`."""
    attempt: int = 1
    """Which attempt this is."""
    values: Mapping[str, Any] = {}
    """The surface's context as tools before this one left it (context modifiers)."""
    wire: Wire | None = None
    """Where what is said here goes; None for a call that nobody follows."""
    abort_callbacks: list[Callable[[], None]] = []

    def progress(self, message: str = "", **facts: Any) -> None:
        """Tell how far the work is: `progress("reading", percent=40)`; also `current_step`, `total_steps`, `bytes_read`,
        `bytes_written`, `line_count`. Safe from any thread. Raises BadProgress for a percent beyond 100."""
        if self.wire is not None:
            self.wire.progress({"message": message, **facts})

    def partial(self, *blocks: dict[str, Any] | str) -> None:
        """Tell a part of the result that is ready, as content blocks or text. The whole result still has to be given."""
        if self.wire is not None:
            self.wire.partial(tuple({"type": "text", "text": b} if isinstance(b, str) else b for b in blocks))

    def to_background(self, task_id: str = "", message: str = "the call goes on in the background") -> None:
        """Let whoever waits for this call go on; its result can be asked for later. Once is enough."""
        if self.wire is not None:
            self.wire.background(task_id, message)

    def needs_input(self, message: str, *, state: bytes = b"", answer_schema: dict[str, Any] | None = None,
                    expires_seconds: int = 24 * 3600) -> Waiting:  # fmt: skip
        """What a tool returns to park its call until somebody answers: `return context.needs_input("Which account?")`."""
        return Waiting(message=message, state=state, answer_schema=answer_schema or {}, expires_seconds=expires_seconds)

    def add_native_ref(self, **ref: Any) -> None:
        """Keep a native id of this call: `add_native_ref(source="mcp", jsonrpc_request_id=7)` (AT-258)."""
        if self.wire is not None:
            self.wire.native(ref)

    def hide(self, value: str) -> None:
        """Say that a value is a secret: it appears in no record, event, error or result of this call."""
        if self.wire is not None:
            self.wire.secret(value)

    def open_output(self, media_type: str = "application/octet-stream", name: str = "") -> PayloadWriter:
        """A writer for output that is too large to return. Give what its `close()` returns to `kept_block`."""
        if self.wire is None:
            raise ExecutionFailed("capability_gap", "there is no payload store to write to")
        return self.wire.output(media_type, name)

    def on_abort(self, callback: Callable[[], None]) -> None:
        """Have something called, once, in the event loop, when the call should stop; at once if that is so already."""
        if self.aborted:
            callback()
        elif self.abort_callbacks:
            self.abort_callbacks.append(callback)
        else:
            self.abort_callbacks = [callback]

    def abort(self, reason: str) -> None:
        """Tell the tool to stop. The pipeline's to call."""
        if self.aborted:
            return
        self.aborted, self.abort_reason = True, reason
        callbacks, self.abort_callbacks = self.abort_callbacks, []
        for callback in callbacks:
            callback()

    def raise_if_aborted(self) -> None:
        """Raises ExecutionFailed (`canceled`, or `timeout`) once the call should stop; for loops in threads."""
        if self.aborted:
            kind: ErrorClass = "timeout" if self.abort_reason == "timeout" else "canceled"
            raise ExecutionFailed(kind, "the tool stopped because it was told to")


class Executor(Protocol):
    """One way of running tools."""

    support: Support

    def can_run(self, tool: Tool) -> bool:
        """True when this process has what the tool needs (a bound function, a known transport)."""

    def prepare(self, tool: Tool) -> Run:
        """The tool's own runner, made once per tool and surface. Raises ExecutionFailed (`setup_required`, …)."""

    async def aclose(self) -> None:
        """Let go of connections and processes."""


class Run(Protocol):
    """Runs one tool."""

    def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """An `Output` or `Waiting`, a plain JSON value (meaning `Output(value)`), or an awaitable of one of these.

        What needs no waiting is returned directly, so that a quick tool costs no task and no await.
        """


class Resumable(Protocol):
    """A runner that can be left and entered again. Nothing is sent twice by a resume."""

    async def resume(self, state: bytes, answer: Any, context: Context) -> Output | Waiting:
        """Go on with the answer."""


class Preflight(Protocol):
    """A runner that can look before it leaps: value checks and IO preflight, without side effects."""

    def preflight(self, arguments: dict[str, Any]) -> str | None:
        """What is wrong with the arguments, for the caller; None when nothing is. May return an awaitable of that."""


EMPTY = object()
"""The value of an `Output` that is empty on purpose (AT-230)."""
