"""The companions of a tool's function: its check, and the function that resumes it after `Waiting`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.errors import BindingError
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.services import Injection
from ferrule.runtime.functions.signature import ABSENT, read_signature


class ToolCheck:
    """A tool's check: takes those of the tool's parameters that it names."""

    def __init__(self, binding: Binding, function: Callable[..., object], injected: Iterable[str] = ()) -> None:
        """Raises BindingError when the check asks for more than arguments. `injected`: parameters that no model fills
        in."""
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
        if signature.injected or not self._names.isdisjoint(injected):
            raise BindingError(f"the check of {binding.label} asks for something injected; it gets arguments alone")

    def call(self, ready: dict[str, Any]) -> Companion:
        """Returns the check, bound to these arguments."""
        given = {name: value for name, value in ready.items() if name in self._names}
        return Companion(self._function, self._is_async, (), self._defaults | given)


class Resume:
    """The function that resumes a call after `Waiting`."""

    def __init__(self, function: Callable[..., object], injection: Injection | None = None) -> None:
        self._function = function
        self._injection = injection
        signature = read_signature(function)
        self._context = signature.context
        self._is_async = signature.is_async

    async def call(self, state: bytes, answer: object, context: Context) -> Companion:
        """Returns the function, bound to the state and the answer. Raises ExecutionFailed."""
        named: dict[str, Any] = {self._context: context} if self._context else {}
        if self._injection is not None:
            named |= await self._injection.resolve()
        return Companion(self._function, self._is_async, (state, answer), named)


def map_resume_injections(function: Callable[..., object], injected: Mapping[str, str]) -> dict[str, str]:
    """Maps the parameters of a resume function to the entries they get: by annotation, or by the name its tool's
    function uses."""
    signature = read_signature(function)
    by_name = (parameter.name for parameter in signature.parameters[2:])
    return signature.injected | {name: injected[name] for name in by_name if name in injected}


class Companion:
    """A companion bound to its arguments, ready to be called."""

    __slots__ = ("_args", "_function", "_named", "is_async")

    def __init__(
        self, function: Callable[..., object], is_async: bool, args: tuple[object, ...], named: dict[str, Any]
    ) -> None:
        self._function = function
        self._args = args
        self._named = named
        self.is_async = is_async

    def __call__(self) -> object:
        return self._function(*self._args, **self._named)
