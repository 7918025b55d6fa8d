"""Registry of the parts of one kind, by name. Builtin tables hold `module:attribute` strings, so a part loads only
when used.

Other packages register parts through entry points. The registry knows no part and no contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from ferrule.errors import SettingsError

T = TypeVar("T")


class Registry(Generic[T]):
    """The built-in parts of one kind, joined with those other packages register under an entry-point group."""

    def __init__(self, kind: str, builtin: Mapping[str, str], group: str | None = None) -> None:
        self.kind = kind
        self._group = group
        self._references = dict(builtin)
        self._joined = group is None

    def get(self, name: str) -> T:
        """Returns the part of that name and loads it if necessary. Raises SettingsError, with the known names, for an
        unknown one."""
        references = self._all()
        if name not in references:
            known = ", ".join(sorted(references))
            raise SettingsError(f"unknown {self.kind} {name!r}; known: {known}")
        return cast(T, _load(references[name]))

    def names(self) -> tuple[str, ...]:
        """Returns every registered name, built-in ones first."""
        return tuple(self._all())

    def __iter__(self) -> Iterator[T]:
        return (self.get(name) for name in self.names())

    def _all(self) -> dict[str, str]:
        if not self._joined and self._group is not None:
            for point in _entry_points(group=self._group):
                if point.name in self._references:
                    raise SettingsError(f"two packages register the {self.kind} {point.name!r}; uninstall one of them")
                self._references[point.name] = point.value
            self._joined = True
        return self._references


@cache
def _load(reference: str) -> object:
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def late(reference: str) -> Callable[..., Any]:
    """Returns a function that imports `module:attribute` when it is first called: for code that most runs never need."""

    def call(*args: Any, **options: Any) -> Any:
        return cast(Callable[..., Any], _load(reference))(*args, **options)

    return call


_entry_points = late("importlib.metadata:entry_points")  # half of the start-up time of a small check
