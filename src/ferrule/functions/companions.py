"""What belongs to a tool's function besides itself: its check, and the function that goes on after `Waiting`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.errors import BindingError
from ferrule.functions.binding import Binding
from ferrule.functions.signature import ABSENT, read_signature


class Check:
    """A tool's check: takes those of the tool's parameters that it names."""

    def __init__(self, binding: Binding, function: Callable[..., Any]) -> None:
        signature = read_signature(function)
        known = {parameter.name: parameter.default for parameter in binding.signature.parameters}
        self._function = function
        self._is_async = signature.is_async
        self._defaults: dict[str, Any] = {}
        for parameter in signature.parameters:
            if parameter.name not in known:
                raise BindingError(f"the check of {binding.label} takes {parameter.name!r}, which the tool does not")
            if parameter.default is ABSENT and known[parameter.name] is not ABSENT:
                self._defaults[parameter.name] = known[parameter.name]
        self._names = frozenset(parameter.name for parameter in signature.parameters)
        if signature.context is not None:
            raise BindingError(f"the check of {binding.label} asks for a context; a check runs before there is one")

    def call(self, ready: dict[str, Any]) -> Companion:
        """The check with these arguments."""
        given = {name: value for name, value in ready.items() if name in self._names}
        return Companion(self._function, self._is_async, (), self._defaults | given)


class Resume:
    """The function that goes on after `Waiting`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        signature = read_signature(function)
        self._context = signature.context
        self._is_async = signature.is_async

    def call(self, state: bytes, answer: Any, context: Context) -> Companion:
        """It, with the state and the answer."""
        named = {self._context: context} if self._context else {}
        return Companion(self._function, self._is_async, (state, answer), named)


class Companion:
    """A companion with everything it needs, to be called."""

    __slots__ = ("_args", "_function", "_named", "is_async")

    def __init__(
        self, function: Callable[..., Any], is_async: bool, args: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        self._function = function
        self._args = args
        self._named = named
        self.is_async = is_async

    def __call__(self) -> Any:
        return self._function(*self._args, **self._named)
