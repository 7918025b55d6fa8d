"""The decorators `@tool` for tools, `@resource` for content with an address, `@prompt` for conversations.

A marked function stays the function it was; the mark is an attribute that `discovery.py` finds. Stands above
`binding.py` and `exposures.py`; runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from ferrule.errors import BindingError
from ferrule.model.tool import Exposure, Flag, PromptExposure, ResourceExposure, TaskUse
from ferrule.runtime.functions.binding import Binding, Isolation, ToolOptions
from ferrule.runtime.functions.exposures import Complete, ExposedBinding, parse_template
from ferrule.runtime.functions.signature import format_label

MARK = "__ferrule_tool__"
"""The attribute that holds a marked function's `Binding`."""

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


class ToolFunction(Protocol[P, R_co]):
    """A marked function: callable as before, with two decorators for what belongs to it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Calls the function itself."""

    def check(self, function: F, /) -> F:
        """Marks a function that looks at the arguments before the call, and returns the problem with them."""

    def resume(self, function: F, /) -> F:
        """Marks a function that resumes the call after `Waiting`, with its state and the answer."""


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
    check: Callable[..., object] | None = None,
    resume: Callable[..., object] | None = None,
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
) -> object:
    """Marks a function as a tool.

    `@tool` and `@tool(read_only=True, …)` make the tool from signature and docstring; `@tool("refund-order")` runs
    the tool that a definition of this id or name describes. What is not stated is taken for unsafe. `inline`: a plain
    function that never waits may run in the event loop itself instead of a thread. `isolation="process"`: it runs in
    a process of its own, killed when the call should stop, which sees no environment variables but the usual ones and
    those in `env`. `locks`: calls that share a key never overlap, such as `"order:{order_id}"`; `exclusive`: every
    call runs alone; `max_attempts`: what fails for lack of a dependency is tried again; `task`: `required` for a tool
    whose callers must be able to come back for the result, `never` for one that they always wait for. Mistakes show
    when an app is opened: BindingError.
    """
    if isinstance(target, str):
        binds = target
    said = ToolOptions(
        tags=_check_words("tags", tags),
        sensitive=_check_words("sensitive", sensitive),
        locks=_check_words("locks", locks),
        **stated,
    )

    def mark(function: Callable[..., object]) -> object:
        binding = Binding(
            function,
            binds=binds,
            stated=said,
            inline=inline,
            check=check,
            resume=resume,
            isolation=isolation,
            env=_check_words("env", env),
        )
        return attach_mark(function, binding)

    return mark(target) if callable(target) else mark


def attach_mark(function: Callable[..., object], binding: Binding) -> ToolFunction[..., Any]:
    """Attaches the binding to a function. Raises BindingError for an object that takes no attributes."""

    def set_check(other: F) -> F:
        binding.check = other
        return other

    def set_resume(other: F) -> F:
        binding.resume = other
        return other

    try:
        # An attribute, not a wrapper: a marked function keeps its identity, so a process can find it by its name.
        setattr(function, MARK, binding)
        function.check = set_check  # type: ignore[attr-defined]  # `ToolFunction` describes it
        function.resume = set_resume  # type: ignore[attr-defined]
    except AttributeError:
        raise BindingError(
            f"{format_label(function)} cannot carry a mark; for a method of an instance use Binding(instance.method, …)"
        ) from None
    return cast(ToolFunction[..., Any], function)


def _check_words(option: str, words: Sequence[str]) -> tuple[str, ...]:
    if isinstance(words, str):
        raise BindingError(f"{option} is a list of words; write {option}=({words!r},)")
    return tuple(words)


_AUDIENCE = ("user", "assistant")


def resource(
    uri: str,
    /,
    *,
    mime_type: str = "",
    name: str | None = None,
    namespace: str | None = None,
    title: str | None = None,
    description: str | None = None,
    size: int | None = None,
    audience: Sequence[str] = (),
    priority: float | None = None,
    last_modified: str | None = None,
    icons: Sequence[Mapping[str, object]] = (),
    complete: Mapping[str, Complete] | None = None,
    **options: object,
) -> Callable[[Callable[P, R_co]], ToolFunction[P, R_co]]:
    """Marks a function as a resource: `@resource("docs://{name}", mime_type="text/markdown")`.

    The variables of the address are the function's parameters. It returns a text, bytes, JSON, an object with `text`
    or `blob`, or a list of these; None when there is nothing at that address. `complete`: values of a variable, or a
    function that finds them. `options`: those of `@tool` that make sense here: `tags`, `timeout_seconds`,
    `approval_required`, `open_world`, `sensitive`, `inline`, `check`, `resume`. Mistakes show when an app is opened:
    BindingError.
    """
    annotations: dict[str, Any] = {}
    if audience:
        if isinstance(audience, str) or any(one not in _AUDIENCE for one in audience):
            raise BindingError(f"the audience of {uri!r} is a list of {' and '.join(_AUDIENCE)}")
        annotations["audience"] = list(audience)
    if priority is not None:
        if not 0 <= priority <= 1:
            raise BindingError(f"the priority of {uri!r} is a number from 0 to 1")
        annotations["priority"] = priority
    if last_modified is not None:
        annotations["lastModified"] = last_modified

    def mark(function: Callable[..., object]) -> Any:
        template = parse_template(uri, format_label(function))
        exposure = ResourceExposure(
            uri=uri,
            mime_type=mime_type,
            is_template=bool(template.names),
            size=size,
            annotations=annotations,
            icons=_check_icons(icons),
        )
        said = {"name": name, "namespace": namespace, "title": title, "description": description}
        return _mark_exposed(function, exposure, complete or {}, said, options)

    return mark


@overload
def prompt(target: Callable[P, R_co], /) -> ToolFunction[P, R_co]: ...


@overload
def prompt(
    target: str | None = None,
    /,
    *,
    name: str | None = None,
    namespace: str | None = None,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Mapping[str, object]] = (),
    complete: Mapping[str, Complete] | None = None,
    tags: Sequence[str] = (),
    timeout_seconds: float | None = None,
    open_world: Flag | None = None,
    inline: bool = False,
    check: Callable[..., object] | None = None,
    resume: Callable[..., object] | None = None,
) -> Callable[[Callable[P, R_co]], ToolFunction[P, R_co]]: ...


def prompt(
    target: Callable[..., object] | str | None = None,
    /,
    *,
    name: str | None = None,
    namespace: str | None = None,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Mapping[str, object]] = (),
    complete: Mapping[str, Complete] | None = None,
    **options: object,
) -> object:
    """Marks a function as a prompt: `@prompt`, `@prompt("review")` or `@prompt(title="Review", complete={"language":
    ["en"]})`.

    Its parameters are the prompt's arguments, which come as texts. It returns a text, content blocks, or messages
    with `role` and `content`. `complete` and `options` as of `@resource`.
    """
    given = target if isinstance(target, str) else name

    def mark(function: Callable[..., object]) -> object:
        said = {"name": given, "namespace": namespace, "title": title, "description": description}
        return _mark_exposed(function, PromptExposure(icons=_check_icons(icons)), complete or {}, said, options)

    return mark(target) if callable(target) else mark


_RUNNING = ("inline", "check", "resume")


def _mark_exposed(
    function: Callable[..., Any],
    exposure: Exposure,
    complete: Mapping[str, Complete],
    said: dict[str, Any],
    options: Mapping[str, Any],
) -> object:
    facts: dict[str, Any] = {"read_only": True, "destructive": False, "concurrency_safe": True}
    words: dict[str, Any] = {key: tuple(options[key]) for key in ("tags", "sensitive") if key in options}
    rest = {key: value for key, value in options.items() if key not in (*_RUNNING, *words)}
    for key in rest:
        if key not in (
            "timeout_seconds",
            "approval_required",
            "open_world",
            "lenient",
            "max_attempts",
            "version",
            "risk",
        ):
            raise BindingError(f"{format_label(function)}: {key!r} is not an option of a resource or a prompt")
    stated = ToolOptions(**{key: value for key, value in said.items() if value is not None}, **facts, **words, **rest)
    running = {key: options[key] for key in _RUNNING if key in options}
    return attach_mark(function, ExposedBinding(function, exposure, complete, stated=stated, **running))


def _check_icons(icons: Sequence[Mapping[str, object]]) -> tuple[dict[str, Any], ...]:
    for icon in icons:
        source = icon.get("src")
        if not isinstance(source, str) or not source.lower().startswith(("https://", "data:image/")):
            raise BindingError(
                f"an icon has an address (`src`) that begins with https:// or data:image/, not {source!r}"
            )
    return tuple(dict(icon) for icon in icons)
