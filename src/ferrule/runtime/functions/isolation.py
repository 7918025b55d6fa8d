"""The protocol between the app and its function processes: how a child finds a function, and the frames they
exchange.

A frame is JSON behind its length. Stands below `child.py` and `children.py`.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import msgspec

from ferrule.errors import BindingError
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.signature import LOADED_FROM


class IsolatedFunction(msgspec.Struct, frozen=True):
    """The module and name by which a fresh process finds a function."""

    module: str
    name: str
    file: str = ""
    """The file, for a module that was loaded from the workspace."""


def locate_function(binding: Binding) -> IsolatedFunction:
    """Locates a function for another process. Raises BindingError when a child could not find it, or not run it."""
    function, label = binding.function, binding.label
    if not isinstance(function, FunctionType) or function.__qualname__ != function.__name__:
        raise BindingError(
            f"{label} cannot run in a process of its own: only a function at the top of a module can be found there"
        )
    module = sys.modules.get(function.__module__)
    if function.__module__ == "__main__" or module is None:
        raise BindingError(
            f"{label} cannot run in a process of its own: the main program is not a module; move the function into one"
        )
    if getattr(module, function.__name__, None) is not function:
        raise BindingError(
            f"{label} cannot run in a process of its own: its module has something else under that name (a decorator's, perhaps)"
        )
    if binding.inline:
        raise BindingError(f"{label} cannot be both inline and in a process of its own; choose one")
    if binding.resume is not None:
        raise BindingError(
            f"{label} cannot run in a process of its own: it resumes after waiting, which works only in this process"
        )
    is_file = function.__module__.startswith(LOADED_FROM)
    return IsolatedFunction(function.__module__, function.__name__, str(module.__file__) if is_file else "")


def refuse_injected(binding: Binding, injected: dict[str, str]) -> None:
    """Raises BindingError for a function that needs an injected value, which lives in this process."""
    if injected:
        name, entry = next(iter(injected.items()))
        raise BindingError(
            f"{binding.label} cannot run in a process of its own: its parameter {name!r} wants {entry!r}, which lives here"
        )


HEAD_BYTES = 4
MOST_BYTES = 64 * 1024**2
"""No answer is longer."""


class CallFrame(msgspec.Struct, frozen=True):
    """One call, as sent to a child."""

    place: IsolatedFunction
    tool: str
    arguments: dict[str, Any]
    context: dict[str, Any]
    """The plain members of its context."""


class OutputParts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The members of an `Output` that can be sent."""

    value: Any = None
    is_empty: bool = False
    content: tuple[dict[str, Any], ...] | None = None
    native_refs: tuple[dict[str, Any], ...] = ()
    artifact_refs: tuple[dict[str, Any], ...] = ()
    resource_refs: tuple[dict[str, Any], ...] = ()
    context_modifiers: tuple[dict[str, Any], ...] = ()
    ui_summary: str | None = None
    search_text: str | None = None
    is_private: bool = False


class FailureFrame(msgspec.Struct, frozen=True):
    """An `ExecutionFailed`, as sent by a child."""

    error_class: str
    message: str
    code: str | None = None
    retry_after: float | None = None
    native_error_ref: str | None = None
    is_retryable: bool | None = None


class ReplyFrame(msgspec.Struct, frozen=True):
    """One message of a child: on the way, or, with one of the last three members, at the end."""

    progress: dict[str, Any] | None = None
    partial: tuple[dict[str, Any], ...] | None = None
    background: tuple[str, str] | None = None
    native: dict[str, Any] | None = None
    secret: str | None = None
    log: tuple[str, int, str] | None = None
    failed: FailureFrame | None = None
    output: OutputParts | None = None
    given: Any = msgspec.UNSET


def encode_frame(value: object) -> bytes:
    """Encodes a value behind its length."""
    data = msgspec.json.encode(value)
    return len(data).to_bytes(HEAD_BYTES, "big") + data


def read_size(head: bytes) -> int:
    """Reads the length of the frame that follows."""
    return int.from_bytes(head, "big")
