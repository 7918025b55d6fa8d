"""The contract of an executor, which reaches the system behind a tool. It decides nothing: the pipeline already did.

It gets the tool, the final arguments (its own copy) and one context object (AT-114), and returns an `Output`, or a
`Waiting` when somebody has to answer before it can go on. It raises `ExecutionFailed` and nothing else on purpose.
While it runs it reports through the context: progress, partial results, going to the background; and the context
notifies it when it has to stop.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from ferrule.contracts.payloads import PayloadWriter
from ferrule.contracts.receiver import Receiver
from ferrule.model.client_requests import complete_form
from ferrule.model.decision import Requirement
from ferrule.model.failure import ErrorClass
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject


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
        is_untouched: bool = False,
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
        """True when another attempt makes sense; None leaves it to the class."""
        self.is_untouched = is_untouched
        """True when it is certain that nothing happened at the other side: the same call can be made again."""


class Output(msgspec.Struct, frozen=True, gc=False):
    """The output of a tool in its own form. The pipeline maps it once."""

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
    is_acknowledgement: bool = False
    """True: the work was handed over and nobody waits for its result, so `value` is no output of the tool's (AML-51)."""
    cache: dict[str, Any] | None = None
    """Set when no system behind was asked for it: `age_seconds` of what was kept, or `shared_with`, the call that asked."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that cannot go on until somebody answers. The call is parked; `resume` gets the state and the answer."""

    message: str
    """The question."""
    state: bytes
    """Whatever `resume` needs; stored with the call."""
    answer_schema: dict[str, Any] = {}
    expires_seconds: int = 24 * 3600
    requirement: Requirement = Requirement()
    """Who may answer: people and groups, and the channel by which an answer may come from outside."""
    client_requests: dict[str, dict[str, Any]] = {}
    """Questions for the calling client itself, by key, in MCP's words: `{"method": "elicitation/create", "params": {…}}`. The
    answer is an object with what the client gave for each key. Nobody else can answer, and it approves nothing."""


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """The abilities of an executor; everything not stated is no (AT-194)."""

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
        """Returns the flags of an execution profile, every one of them stated (AT-194)."""
        return {
            name if name == "sandboxed" else f"supports_{name}": value
            for name, value in msgspec.structs.asdict(self).items()
        }


class Wire(Protocol):
    """The pipeline's end of a context. Safe to use from any thread."""

    def progress(self, facts: JsonObject) -> None:
        """Takes one piece of progress. Raises BadProgress."""

    def partial(self, blocks: tuple[JsonObject, ...]) -> None:
        """Takes a part of the result."""

    def background(self, task_id: str, message: str) -> None:
        """Releases the waiting caller; the call goes on."""

    def native(self, ref: JsonObject) -> None:
        """Records a native id of this very call."""

    def secret(self, value: str) -> None:
        """Keeps a value out of everything that is recorded or reported about this call."""

    def output(self, media_type: str, name: str) -> PayloadWriter:
        """Opens a writer into the payload store."""


class Context(msgspec.Struct, gc=False):
    """Everything an executor may know and do about the call it runs. One object, so that it can grow without breaking
    executors."""

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
    handed: Mapping[str, str] = {}
    """Those of `credentials` that the caller brought for this call alone."""
    client: frozenset[str] = frozenset()
    """What the calling client can be asked for: `elicitation`, `elicitation.url`, `sampling`, `sampling.tools`, `roots`."""
    run_id: str = ""
    """The piece of agent work it belongs to; secrets are read once for each."""
    is_confined: bool = False
    """True when only hosts in `[network] allow` may be reached: the agent's file does not allow others (AML-105)."""
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
    """Takes what the tool reports; None for a call that nobody follows."""
    abort_callbacks: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"Context({self.invocation_id!r})"  # it holds secrets, and tracebacks print it

    def progress(self, message: str = "", **facts: Any) -> None:
        """Reports how far the work is: `progress("reading", percent=40)`; also `current_step`, `total_steps`,
        `bytes_read`, `bytes_written`, `line_count`. Safe from any thread. Raises BadProgress for a percent beyond
        100."""
        if self.wire is not None:
            self.wire.progress({"message": message, **facts})

    def partial(self, *blocks: dict[str, Any] | str) -> None:
        """Reports a part of the result that is ready, as content blocks or text. The complete result still has to be
        returned."""
        if self.wire is not None:
            self.wire.partial(tuple({"type": "text", "text": b} if isinstance(b, str) else b for b in blocks))

    def to_background(self, task_id: str = "", message: str = "the call goes on in the background") -> None:
        """Releases the waiting caller; the result can be asked for later. Calling it once is enough."""
        if self.wire is not None:
            self.wire.background(task_id, message)

    def needs_input(self, message: str, *, state: bytes = b"", answer_schema: JsonObject | None = None,
                    expires_seconds: int = 24 * 3600) -> Waiting:  # fmt: skip
        """Builds the value a tool returns to park its call until somebody answers: `return context.needs_input("Which
        account?")`."""
        return Waiting(message=message, state=state, answer_schema=answer_schema or {}, expires_seconds=expires_seconds)

    def ask_client(
        self, requests: dict[str, JsonObject], *, state: bytes = b"", expires_seconds: int = 3600
    ) -> Waiting:
        """Builds the value a tool returns to ask the calling client: `return context.ask_client({"name": {"method":
        "elicitation/create", "params": {"message": "Your name?", "requestedSchema": {…}}}})`. `context.client`
        lists what may be asked."""
        return Waiting(
            message="the calling client is asked",
            state=state,
            expires_seconds=expires_seconds,
            client_requests={key: complete_form(request) for key, request in requests.items()},
        )

    def log(self, level: str, data: object, logger: str = "") -> None:
        """Sends a log message that is no progress to the followers of the call: `log("warning", "the index is old")`.
        Levels are those of syslog, `debug` to `emergency`."""
        if self.wire is not None:
            record = {"level": level, "data": data, **({"logger": logger} if logger else {})}
            self.wire.progress({"message": data if isinstance(data, str) else "", "log": record})

    def announce(self, what: str) -> None:
        """Notifies subscribed clients of a change: of the list of `tools`, `prompts` or `resources`, or of a resource
        by its address. Safe from any thread."""
        if self.session is not None:
            self.session.announce(what)

    def add_native_ref(self, **ref: Any) -> None:
        """Records a native id of this call: `add_native_ref(source="mcp", jsonrpc_request_id=7)` (AT-258)."""
        if self.wire is not None:
            self.wire.native(ref)

    def hide(self, value: str) -> None:
        """Marks a value as a secret: it appears in no record, event, error or result of this call."""
        if self.wire is not None:
            self.wire.secret(value)

    def open_output(self, media_type: str = "application/octet-stream", name: str = "") -> PayloadWriter:
        """Opens a writer for output that is too large to return. Pass the result of its `close()` to `payload_block`."""
        if self.wire is None:
            raise ExecutionFailed("capability_gap", "there is no payload store to write to")
        return self.wire.output(media_type, name)

    def on_abort(self, callback: Callable[[], None]) -> None:
        """Registers a callback for when the call should stop: called once, in the event loop; at once if it should
        already."""
        if self.aborted:
            callback()
        elif self.abort_callbacks:
            self.abort_callbacks.append(callback)
        else:
            self.abort_callbacks = [callback]

    def abort(self, reason: str) -> None:
        """Tells the tool to stop. Only the pipeline calls this."""
        if self.aborted:
            return
        self.aborted, self.abort_reason = True, reason
        # Taken out first: a callback that registers another one would otherwise change the list while it is walked.
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
        """Returns True when this process has what the tool needs (a bound function, a known transport)."""

    def prepare(self, tool: Tool) -> Run:
        """Makes the tool's own runner, once per tool and surface. Raises ExecutionFailed (`setup_required`, …)."""

    async def aclose(self) -> None:
        """Closes connections and processes."""


class Run(Protocol):
    """The runner of one tool.

    It may also have these attributes: `support`, where it can do other than its executor; `wants_context = False`, when
    it never looks at its context; `upstream`, the name of the system behind it, whose circuit breaker all its tools
    share; `is_repeatable = True`, when another attempt cannot do something twice; `runs_in_place = True`, when it ends
    by its context's deadline itself, stops at once when its task is canceled, and never goes to the background.
    """

    def __call__(self, arguments: JsonObject, context: Context) -> Any:
        """Returns an `Output` or `Waiting`, a plain JSON value (meaning `Output(value)`), or an awaitable of one of
        these.

        A result that needs no waiting is returned directly, so that a quick tool costs no task and no await.
        """


class Resumable(Protocol):
    """A runner that can be left and resumed. A resume sends nothing twice."""

    async def resume(self, state: bytes, answer: object, context: Context) -> Output | Waiting:
        """Goes on with the answer."""


class Probed(Protocol):
    """A runner that can check whether its tool would work, without calling it."""

    async def probe(self, context: Context) -> str:
        """Returns a short description of the check: "connected to db.internal as app". Raises ExecutionFailed with
        what is wrong and what to do. Changes nothing at the other side and reveals no secret."""


class Receiving(Protocol):
    """An executor whose parked calls are answered from outside."""

    def receiver(self, tool: Tool) -> Receiver | None:
        """Returns the receiver of the answers for this tool; equal channels mean one receiver for all of them."""


class ReadsReplies(Protocol):
    """An executor that has to extract the answer from what a receiver brings."""

    def reply_value(self, tool: Tool, value: object) -> Any:
        """Extracts the answer from what a receiver brought for this tool."""


class Preflight(Protocol):
    """A runner that can check arguments before it runs: value checks and IO preflight, without side effects."""

    def preflight(self, arguments: JsonObject) -> str | None:
        """Returns what is wrong with the arguments, for the caller; None when nothing is. May return an awaitable of
        that."""


EMPTY = object()
"""The value of an `Output` that is empty on purpose (AT-230)."""
