"""What reaches the system behind a tool. An executor decides nothing: the pipeline validated, decided and recorded before.

It gets the tool, the final arguments (its own copy) and one context object (AT-114), and gives an `Output`, or a `Waiting`
when somebody has to answer before it can go on. It raises `ExecutionFailed` and nothing else on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from ferrule.model.failure import ErrorClass
from ferrule.model.tool import Tool


def no_progress(message: str = "", **facts: Any) -> None:
    """Progress of a call that nobody follows."""


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
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.message = message
        self.code = code
        self.retry_after = retry_after
        self.native_error_ref = native_error_ref
        self.output = output
        """What was achieved before a `partial_failure`."""


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
    timeout: bool = True


class Context(msgspec.Struct, gc=False):
    """Everything an executor may know and do about the call it runs. One object, so that executors can grow without bending."""

    invocation_id: str
    principal: str
    agent: str | None
    tenant: str
    session: Any = None
    """The caller's surface, for tools that work on it (tool search)."""
    deadline: float | None = None
    """When the call must be over, by the event loop's clock; None when nobody set a limit."""
    idempotency_key: str | None = None
    native_call_id: str | None = None
    progress: Callable[..., None] = no_progress
    """Tell how far the work is: `progress(message=…, percent=…)`. Safe from any thread."""
    credentials: Mapping[str, str] = {}
    """Secrets by name. Never logged, never stored."""
    sandbox: str | None = None
    aborted: bool = False
    """True once the call should stop: timed out or canceled."""


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
