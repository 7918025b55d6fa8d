"""`@tool`: marks a typed function as a tool. The function stays what it is; the mark is an attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from ferrule.errors import BindingError
from ferrule.model.tool import Flag, TaskUse
from ferrule.runtime.functions.binding import Binding, Isolation, Stated
from ferrule.runtime.functions.signature import label

MARK = "__ferrule_tool__"
"""The attribute that holds a marked function's `Binding`."""

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


class ToolFunction(Protocol[P, R_co]):
    """A marked function: callable as before, with two decorators for what belongs to it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The function itself."""

    def check(self, function: F, /) -> F:
        """Marks a function that looks at the arguments before anything happens, and gives what is wrong with them."""

    def resume(self, function: F, /) -> F:
        """Marks a function that goes on after `Waiting`, with its state and the answer."""


@overload
def tool(target: Callable[P, R_co], /) -> ToolFunction[P, R_co]: ...


@overload
def tool(
    target: str | None = None,
    /,
    *,
    binds: str | None = None,
    name: str | None = None,
    namespace: str | None = None,
    description: str | None = None,
    title: str | None = None,
    version: str | None = None,
    tags: Sequence[str] = (),
    search_hint: str | None = None,
    read_only: Flag | None = None,
    destructive: Flag | None = None,
    idempotent: bool | None = None,
    open_world: Flag | None = None,
    concurrency_safe: Flag | None = None,
    approval_required: bool = False,
    risk: str | None = None,
    timeout_seconds: float | None = None,
    lenient: bool = True,
    sensitive: Sequence[str] = (),
    locks: Sequence[str] = (),
    exclusive: bool = False,
    max_attempts: int | None = None,
    task: TaskUse | None = None,
    inline: bool = False,
    isolation: Isolation = "none",
    env: Sequence[str] = (),
    check: Callable[..., Any] | None = None,
    resume: Callable[..., Any] | None = None,
) -> Callable[[Callable[P, R_co]], ToolFunction[P, R_co]]: ...


def tool(
    target: Callable[..., Any] | str | None = None,
    /,
    *,
    binds: str | None = None,
    tags: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    locks: Sequence[str] = (),
    inline: bool = False,
    isolation: Isolation = "none",
    env: Sequence[str] = (),
    check: Callable[..., Any] | None = None,
    resume: Callable[..., Any] | None = None,
    **stated: Any,
) -> Any:
    """Mark a function as a tool.

    `@tool` and `@tool(read_only=True, …)` make the tool from signature and docstring; `@tool("refund-order")` runs the tool
    that a definition of this id or name describes. What is not stated is taken for unsafe. `inline`: a plain function that
    never waits may run in the event loop itself instead of a thread. `isolation="process"`: it runs in a process of its own,
    killed when the call should stop, which sees no environment variables but the usual ones and those in `env`. `locks`: calls
    that share a key never overlap, such as `"order:{order_id}"`; `exclusive`: every call runs alone; `max_attempts`: what fails
    for lack of a dependency is tried again; `task`: `required` for a tool whose callers must be able to come back for the
    result, `never` for one that they always wait for. Mistakes show when an app is opened: BindingError.
    """
    if isinstance(target, str):
        binds = target
    said = Stated(
        tags=_words("tags", tags),
        sensitive=_words("sensitive", sensitive),
        locks=_words("locks", locks),
        **stated,
    )

    def mark(function: Callable[..., Any]) -> Any:
        binding = Binding(
            function,
            binds=binds,
            stated=said,
            inline=inline,
            check=check,
            resume=resume,
            isolation=isolation,
            env=_words("env", env),
        )
        return marked(function, binding)

    return mark(target) if callable(target) else mark


def marked(function: Callable[..., Any], binding: Binding) -> ToolFunction[..., Any]:
    """The function with its mark."""

    def set_check(other: F) -> F:
        binding.check = other
        return other

    def set_resume(other: F) -> F:
        binding.resume = other
        return other

    try:
        setattr(function, MARK, binding)
        function.check = set_check  # type: ignore[attr-defined]  # `ToolFunction` describes it
        function.resume = set_resume  # type: ignore[attr-defined]
    except AttributeError:
        raise BindingError(
            f"{label(function)} cannot carry a mark; for a method of an instance use Binding(instance.method, …)"
        ) from None
    return cast(ToolFunction[..., Any], function)


def _words(option: str, words: Sequence[str]) -> tuple[str, ...]:
    if isinstance(words, str):
        raise BindingError(f"{option} is a list of words; write {option}=({words!r},)")
    return tuple(words)
