"""Finds the Python callable that makes a service: one marked with `@service`, or one with the factory name of a
manifest."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import BindingError
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.inject import SERVICE_MARK, to_snake_case
from ferrule.runtime.functions.signature import ABSENT, format_label, read_injectable


class Factory(NamedTuple):
    """The factory of a service."""

    function: Callable[..., Any]
    label: str
    wants: dict[str, str | None]
    """Its parameters, with the entry that an annotation asks for."""
    needs: frozenset[str]
    """Those without a default."""


class FactorySources:
    """The places to look for factories: the given objects first, then the modules around given functions."""

    def __init__(self, given: Iterable[object] = ()) -> None:
        members = list(_flatten(given))
        self._marked: dict[str, Any] = {}
        self._modules = [one for one in members if isinstance(one, ModuleType)]
        for one in members:
            for factory in _find_marked(one):
                self._add_marked(factory)
        around = (sys.modules.get(getattr(one, "__module__", "") or "") for one in members if callable(one))
        self._around = list(dict.fromkeys(module for module in around if module is not None))
        """Modules of functions that were given one by one."""

    @property
    def marked_factories(self) -> dict[str, Callable[..., Any]]:
        """The marked factories, by the service they make."""
        nearby = {str(_read_mark(factory)): factory for module in self._around for factory in _find_marked(module)}
        return nearby | self._marked

    def find(self, service: str, name: str) -> Factory:
        """Finds the factory of a service that a manifest says is made by `name`. Raises ExecutionFailed
        (`setup_required`)."""
        marked = self.marked_factories
        found = (
            marked.get(service)
            or marked.get(name)
            or self._find_by_name(name)
            or self._find_by_name(to_snake_case(name))
        )
        if found is None:
            raise ExecutionFailed(
                "setup_required",
                f"the service {service!r} is made by {name!r}, and no function of that name is in [functions] modules; add it"
                f' there, or mark one with @ferrule.service("{service}")',
            )
        return read_factory(service, found)

    def _find_by_name(self, name: str) -> Callable[..., object] | None:
        for module in (*self._modules, *self._around):
            found = vars(module).get(name)
            if callable(found):
                return found  # type: ignore[no-any-return]  # callable() says so
        return None

    def _add_marked(self, factory: Any) -> None:
        name = str(_read_mark(factory))
        other = self._marked.setdefault(name, factory)
        if other is not factory:
            raise BindingError(
                f"{format_label(other)} and {format_label(factory)} both make the service {name!r}; rename one of them"
            )


def read_factory(service: str, function: Callable[..., object]) -> Factory:
    """Reads what a factory's parameters ask for. Raises ExecutionFailed (`setup_required`)."""
    try:
        wants, defaults = read_injectable(function)
    except BindingError as error:
        raise ExecutionFailed("setup_required", f"the service {service!r} cannot be made: {error}") from error
    needs = frozenset(name for name in wants if defaults[name] is ABSENT)
    return Factory(function, format_label(function), wants, needs)


def is_service(value: object) -> bool:
    """Returns True for a marked factory."""
    return _read_mark(value) is not None


def _flatten(given: Any) -> Iterator[object]:
    """Yields the given objects one by one, with functions in place of their bindings."""
    for one in given:
        if isinstance(one, Iterable) and not isinstance(one, type | str | bytes):
            yield from _flatten(one)
        else:
            yield one.function if isinstance(one, Binding) else one


def _find_marked(source: object) -> Iterator[Any]:
    if isinstance(source, ModuleType):
        yield from (value for value in vars(source).values() if is_service(value))
    elif is_service(source):
        yield source


def _read_mark(value: object) -> object:
    if not (inspect.isroutine(value) or isinstance(value, type) or callable(value)):
        return None
    try:
        return vars(value).get(SERVICE_MARK)
    except TypeError:
        return None
