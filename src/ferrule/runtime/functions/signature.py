"""Reads a function's signature: its parameters with resolved types, the names a model uses for them, its context."""

from __future__ import annotations

import functools
import inspect
import keyword
import re
import types
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from ferrule.contracts.executor import Context, Output, Waiting
from ferrule.errors import BindingError
from ferrule.runtime.functions.inject import WHOLE_INPUT, find_entry

ABSENT: Any = inspect.Parameter.empty
"""No annotation, no default."""
LOADED_FROM = "ferrule_functions_"
"""How the names of modules begin that were loaded from a file; what follows up to the dot tells workspaces apart."""
_LOADED = re.compile(rf"^{LOADED_FROM}[0-9a-f]+\.")


class FunctionParameter(NamedTuple):
    """One parameter of a tool's function."""

    name: str
    """As Python has it."""
    field: str
    """As a model has it: a name that is a keyword of Python ends in an underscore only here."""
    annotation: Any
    default: Any


class FunctionSignature(NamedTuple):
    """The parameters and the return type of a tool's function."""

    parameters: tuple[FunctionParameter, ...]
    context: str | None
    """The parameter that gets the call's context."""
    takes_more: bool
    """It has `**names` for fields without a parameter."""
    returns: Any
    """Without `Output` and `Waiting`, which are no values; ABSENT when nothing is said."""
    is_async: bool
    injected: dict[str, str] = {}  # noqa: RUF012  # never changed
    """Entries injected by annotation, by parameter."""
    whole: str | None = None
    """The parameter that gets all arguments as one value (`Arguments`)."""


def format_label(function: Callable[..., object]) -> str:
    """Formats a function's place, for messages and definitions: `shop.orders:refund`."""
    inner = function.func if isinstance(function, functools.partial) else function
    module = _LOADED.sub("", getattr(inner, "__module__", None) or "?")
    return f"{module}:{getattr(inner, '__qualname__', type(inner).__qualname__)}"


def read_signature(function: Callable[..., object]) -> FunctionSignature:
    """Reads a function's signature. Raises BindingError for a signature that no tool can have."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BindingError(
            f"{format_label(function)} is a generator; let a tool's function return all of its result, as a list"
        )
    hints = _resolve_hints(function)
    parameters: list[FunctionParameter] = []
    injected: dict[str, str] = {}
    context, takes_more = None, False
    for parameter in _list_parameters(function):
        annotation = hints.get(parameter.name, ABSENT)
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_more = True
        elif _is_context(annotation):
            context = parameter.name
        elif (entry := find_entry(annotation)) is not None:
            injected[parameter.name] = entry
        else:
            # `from_` in Python is the field `from`; other trailing underscores belong to the name.
            field = parameter.name.removesuffix("_")
            field = field if keyword.iskeyword(field) else parameter.name
            parameters.append(FunctionParameter(parameter.name, field, *_attach_field(annotation, parameter.default)))
    returns = _strip_outcomes(hints.get("return", ABSENT))
    whole = next((each.name for each in parameters if takes_all(each.annotation)), None)
    if whole is not None and len(parameters) > 1:
        raise BindingError(
            f"{format_label(function)} has arguments beside {whole!r}, which gets all of them; leave them out"
        )
    return FunctionSignature(tuple(parameters), context, takes_more, returns, _is_async(function), injected, whole)


def takes_all(annotation: Any) -> bool:
    """Returns True for a parameter that gets all arguments as one value."""
    return get_origin(annotation) is Annotated and WHOLE_INPUT in annotation.__metadata__


def read_injectable(function: Callable[..., object]) -> tuple[dict[str, str | None], dict[str, Any]]:
    """Reads the parameters of a function that is called with injected values alone: the entries their annotations ask
    for, and their defaults. `*more` and `**more` get nothing. Raises BindingError."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in kinds]
    except (TypeError, ValueError):
        raise BindingError(f"{format_label(function)} has no signature to read; wrap it in a function") from None
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is ABSENT:
            raise BindingError(
                f"the parameter {parameter.name!r} of {format_label(function)} is positional-only; give it a name"
            )
    hints = _resolve_hints(function.__init__ if isinstance(function, type) else function)  # type: ignore[misc]  # of this class
    named = [each for each in parameters if each.kind is not each.POSITIONAL_ONLY]
    return {each.name: find_entry(hints.get(each.name)) for each in named}, {each.name: each.default for each in named}


def _list_parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise BindingError(
            f"{format_label(function)} has no signature to read; wrap it in a function with typed parameters"
        ) from None
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise BindingError(
                f"{format_label(function)} takes *{parameter.name}; a tool's arguments have names: use a list"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise BindingError(
                f"the parameter {parameter.name!r} of {format_label(function)} is positional-only, and a tool's arguments"
                " have names; move it behind the '/'"
            )
    return parameters


def _resolve_hints(function: Callable[..., object]) -> dict[str, Any]:
    inner = function.func if isinstance(function, functools.partial) else function
    if not isinstance(inner, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        inner = type(inner).__call__  # an instance that can be called
    try:
        return get_type_hints(inner, include_extras=True)
    except Exception as error:  # whatever an annotation in quotes runs into
        raise BindingError(
            f"the annotations of {format_label(function)} cannot be resolved ({type(error).__name__}: {error}); types have to be"
            " importable from its module when the program runs, not only while type checking"
        ) from error


def _attach_field(annotation: Any, default: Any) -> tuple[object, object]:
    """Returns annotation and default of a parameter; a pydantic `Field` in place of the default becomes a note, and
    its default counts."""
    if annotation is ABSENT or not is_field(default):
        return annotation, default
    held = ABSENT if default.is_required() else default if default.default_factory is not None else default.default
    return Annotated[annotation, default], held


def is_field(value: object) -> bool:
    """Returns True for a `Field` of pydantic, which is not imported for it."""
    return (type(value).__module__, type(value).__name__) == ("pydantic.fields", "FieldInfo")


def _is_context(annotation: object) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_is_context(member) for member in get_args(annotation))
    return annotation is Context


def _strip_outcomes(annotation: object) -> object:
    """Returns a return annotation without `Output` and `Waiting`, which are no values of the tool's own."""
    if annotation in (Output, Waiting):
        return ABSENT
    if get_origin(annotation) in (Union, types.UnionType):
        kept = [member for member in get_args(annotation) if member not in (Output, Waiting)]
        return Union[tuple(kept)] if kept else ABSENT  # noqa: UP007  # made when the program runs
    return annotation


def _is_async(function: Callable[..., object]) -> bool:
    inner = function.func if isinstance(function, functools.partial) else function
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def strip_annotated(annotation: object) -> Any:
    """Returns an annotation without `Annotated`."""
    return strip_annotated(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation
