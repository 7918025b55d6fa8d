"""Functions that run in a process of their own: where such a process finds one, and why another cannot be found there."""

from __future__ import annotations

import sys
from types import FunctionType

import msgspec

from ferrule.errors import BindingError
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.signature import LOADED_FROM


class Place(msgspec.Struct, frozen=True):
    """Where a function is, for a process that has not imported anything yet."""

    module: str
    name: str
    file: str = ""
    """Of a module that was loaded from a file of the workspace."""


def place_of(binding: Binding) -> Place:
    """Where a function is. Raises BindingError for one that another process could not find, or not run."""
    function, label = binding.function, binding.label
    if not isinstance(function, FunctionType) or function.__qualname__ != function.__name__:
        raise BindingError(
            f"{label} cannot run in a process of its own: only a function at the top of a module can be found there"
        )
    module = sys.modules.get(function.__module__)
    if function.__module__ == "__main__" or module is None:
        raise BindingError(
            f"{label} cannot run in a process of its own: the program that is run is no module; move it into one"
        )
    if getattr(module, function.__name__, None) is not function:
        raise BindingError(
            f"{label} cannot run in a process of its own: its module has something else under that name (a decorator's, perhaps)"
        )
    if binding.inline:
        raise BindingError(f"{label} cannot be both inline and in a process of its own; choose one")
    if binding.resume is not None:
        raise BindingError(
            f"{label} cannot run in a process of its own: it goes on after waiting, which only works here"
        )
    is_file = function.__module__.startswith(LOADED_FROM)
    return Place(function.__module__, function.__name__, str(module.__file__) if is_file else "")


def refuse_injected(binding: Binding, injected: dict[str, str]) -> None:
    """Raises BindingError for a function that wants something of this process."""
    if injected:
        name, entry = next(iter(injected.items()))
        raise BindingError(
            f"{binding.label} cannot run in a process of its own: its parameter {name!r} wants {entry!r}, which lives here"
        )
