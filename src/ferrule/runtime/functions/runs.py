"""Runs one function, in place, in a thread, on the loop or in a process: arguments in, its return value or an error class out.

Stands below `executors/function.py`, which chooses the kind of run; does not know the pipeline.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from functools import partial
from types import CoroutineType
from typing import Any

import msgspec
from msgspec.structs import replace

from ferrule.contracts.executor import EMPTY, Context, ExecutionFailed, Output, Support, Waiting
from ferrule.model.tool import Tool
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.children import Children
from ferrule.runtime.functions.companions import Companion, Resume, ToolCheck
from ferrule.runtime.functions.conversion import is_plain, make_reader, make_writer, takes_whole_number
from ferrule.runtime.functions.failures import ToolFailed, fail
from ferrule.runtime.functions.fitting import Fit
from ferrule.runtime.functions.isolation import CallFrame, locate_function, refuse_injected
from ferrule.runtime.functions.services import Injection
from ferrule.runtime.functions.threads import Threads

_PLAIN = ("invocation_id", "principal", "agent", "tenant", "idempotency_key", "native_call_id", "run_id", "attempt")
"""What another process is told of a call's context."""


class FunctionRun:
    """The base of the ways to run a function."""

    support = Support(progress=True, resume=True, retries=True, artifacts=True, context_modifiers=True)

    def __init__(
        self,
        binding: Binding,
        tool: Tool,
        fitted: Fit,
        threads: Threads,
        injection: Injection | None = None,
        resume_injection: Injection | None = None,
    ) -> None:
        signature, injected = binding.signature, fitted.injected
        parameters = tuple(each for each in signature.parameters if each.name not in injected)
        self._binding = binding
        self._call = binding.function
        self._name = tool.name
        self._fit = fitted
        self._threads = threads
        self._context = signature.context
        self._injection = injection
        """What it is given besides its arguments; None when there is no such thing."""
        self._whole = tuple(parameter.name for parameter in parameters if takes_whole_number(parameter))
        readers = {parameter.name: make_reader(parameter) for parameter in parameters}
        self._readers = tuple((name, read) for name, read in readers.items() if read is not None)
        self._is_direct = not (self._readers or fitted.renamed or fitted.whole or self._context or injection)
        self._shape = binding.shape if not fitted.wraps else partial(_wrap, fitted.wraps)
        self._write = make_writer(signature)
        self._gives_json = self._shape is None and is_plain(signature.returns, known=True)
        self._is_simple = self._is_direct and not self._whole and self._gives_json
        """Nothing has to be converted on the way in or out."""
        self.wants_context = self._context is not None
        self._check = None if binding.check is None else ToolCheck(binding, binding.check, injected)
        self._going_on = None if binding.resume is None else Resume(binding.resume, resume_injection)
        self._reserved = frozenset(injected) if signature.takes_more else frozenset()
        """Names that a model must not send although the function would take them."""
        looks = self._check or self._readers or self._reserved or fitted.known is not None
        self.preflight = self._preflight if looks else None
        """Looks at the arguments before anything happens; None when the schema has said it all."""

    def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """Run the function. The arguments are its own."""
        raise NotImplementedError

    async def resume(self, state: bytes, answer: Any, context: Context) -> Output | Waiting:
        """Go on after `Waiting`, with its state and the answer."""
        if self._going_on is None:
            raise ExecutionFailed("capability_gap", f"tool {self._name!r} has no function to go on with")
        try:
            value = await self._anywhere(await self._going_on.call(state, answer, context))
            given = self._convert(value, is_json=False)
        except BaseException as error:
            fail(error, self._name)
        return given if isinstance(given, Output | Waiting) else Output(given)

    def _prepare_arguments(self, arguments: Any, context: Context | None) -> dict[str, Any]:
        """The arguments as the function wants them. Raises msgspec.ValidationError."""
        if not self._is_direct:
            arguments = self._reshape(arguments, context)
        if self._whole and float in map(type, arguments.values()):
            # JSON Schema takes 3.0 for an integer; a function that asks for `int` gets one.
            for name in self._whole:
                if type(arguments.get(name)) is float:
                    arguments[name] = int(arguments[name])
        ready: dict[str, Any] = arguments
        return ready

    def _reshape(self, arguments: Any, context: Context | None) -> dict[str, Any]:
        if self._fit.whole is not None:
            arguments = {self._fit.whole: arguments}
        renamed = self._fit.renamed
        if renamed:
            arguments = {renamed.get(field, field): value for field, value in arguments.items()}
        for name, read in self._readers:
            if name in arguments:
                arguments[name] = read(arguments[name])
        if self._context is not None and context is not None:
            arguments[self._context] = context
        if self._injection is not None and self._injection.values is not None:
            arguments.update(self._injection.values)  # last: nothing a model sends takes their place
        ready: dict[str, Any] = arguments
        return ready

    def _convert(self, value: Any, *, is_json: bool) -> Any:
        """Converts what a function returned to JSON, unless it is known to be."""
        kind = type(value)
        if kind is Waiting:
            if self._going_on is None:
                raise ToolFailed(f"tool {self._name!r} waits for an answer and has no function to go on with")
            return value
        if is_json or kind is Output or value is EMPTY:
            return value
        try:
            return self._write(value if self._shape is None else self._shape(value))
        except (TypeError, ValueError, RecursionError) as error:
            message = (
                f"tool {self._name!r} returned a {kind.__qualname__} that is not JSON; its author has to convert it"
            )
            raise ToolFailed(message, code="result_mapping_failed") from error

    def _preflight(self, arguments: dict[str, Any]) -> str | Awaitable[str | None] | None:
        """Says what is wrong with the arguments, as far as types and the tool's own check can tell."""
        problem = self._unknown_field(arguments)
        if problem is not None:
            return problem
        try:
            # A copy: reading the arguments replaces members, and the call needs its own as they are.
            ready = self._prepare_arguments(dict(arguments) if isinstance(arguments, dict) else arguments, None)
        except msgspec.ValidationError as error:
            return self._unreadable(arguments, error)
        except BaseException as error:
            fail(error, self._name)
        return None if self._check is None else self._run_check(self._check.call(ready))

    def _unknown_field(self, arguments: dict[str, Any]) -> str | None:
        known, reserved = self._fit.known, self._reserved
        unknown = arguments.keys() - known if known is not None else arguments.keys() & reserved if reserved else ()
        if not unknown:
            return None
        field = next(name for name in arguments if name in unknown)
        return f"tool {self._name!r} takes no field {field[:60]!r}; leave it out"

    def _unreadable(self, arguments: Any, error: msgspec.ValidationError) -> str:
        """Which field cannot be read. A type's own words may repeat the value, so only msgspec's are passed on."""
        reason = "" if error.__cause__ is not None else f": {error}"
        fields = {python: field for field, python in self._fit.renamed.items()}
        for name, read in self._readers:
            field = fields.get(name, name)
            try:
                if isinstance(arguments, dict) and field in arguments:
                    read(arguments[field])
            except msgspec.ValidationError:
                return f"{field!r} cannot be used as it is{reason}; change it"
        return f"the arguments of {self._name!r} cannot be used as they are{reason}"

    async def _run_check(self, call: Companion) -> str | None:
        try:
            problem = await self._anywhere(call)
        except ToolFailed as failed:
            if failed.error_class != "execution_failed":
                fail(failed, self._name)
            return failed.message
        except BaseException as error:
            fail(error, f"{self._name} (its check)")
        return None if problem is None else str(problem)

    async def _anywhere(self, call: Companion) -> Any:
        """The result of a function of either kind. Plain ones get a thread unless their tool runs inline."""
        value = call() if call.is_async or self._binding.inline else await self._threads.run(call)
        return await value if inspect.isawaitable(value) else value


class InlineRun(FunctionRun):
    """A plain function that never waits, run where the call is."""

    def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """What the function returned."""
        if self._injection is not None and self._injection.values is None:
            return self._later(self._injection, arguments, context)
        try:
            value = self._call(**self._prepare_arguments(arguments, context))
            kind = type(value)
            if self._gives_json and kind is not Waiting and kind is not CoroutineType:
                return value  # what `_convert` would return, without asking
            return self._await(value) if kind is CoroutineType else self._convert(value, is_json=self._gives_json)
        except BaseException as error:
            fail(error, self._name)

    async def _later(self, injection: Injection, arguments: dict[str, Any], context: Context) -> Any:
        """The first call: what the function is given has to be made."""
        await injection.resolve()
        value = self(arguments, context)
        return await value if inspect.isawaitable(value) else value

    async def _await(self, value: Awaitable[Any]) -> Any:
        try:
            return self._convert(await value, is_json=self._gives_json)
        except BaseException as error:
            fail(error, self._name)


class AsyncRun(FunctionRun):
    """An async function, awaited in the call's own task: canceling the call cancels the function."""

    support = replace(FunctionRun.support, cancel=True, partial_results=True, background=True)

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """What the function returned."""
        try:
            if self._is_simple:
                value = await self._call(**arguments)
                return value if value.__class__ is not Waiting else self._convert(value, is_json=True)
            if self._injection is not None:
                await self._injection.resolve()
            value = await self._call(**self._prepare_arguments(arguments, context))
            return self._convert(value, is_json=self._gives_json)
        except BaseException as error:
            fail(error, self._name)


class ThreadRun(FunctionRun):
    """A plain function in a thread. Nothing can stop it once it has begun: who waits for it may stop waiting, and
    `context.aborted` says so. One that still waits for a thread when it should stop never begins."""

    support = replace(FunctionRun.support, partial_results=True, background=True)

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.wants_context = True  # it says when to stop, whether or not the function looks at it

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """What the function returned."""
        try:
            if self._injection is not None:
                await self._injection.resolve()
            ready = self._prepare_arguments(arguments, context)
            given = self._threads.submit(lambda: self._call(**ready))
            context.on_abort(given.withdraw)
            value = await given.future
            if type(value) is CoroutineType:
                value = await value
            return self._convert(value, is_json=self._gives_json)
        except BaseException as error:
            fail(error, self._name)


class ProcessRun(FunctionRun):
    """A function in a process of its own. It is killed when the call should stop, and its death is the call's failure alone."""

    support = replace(FunctionRun.support, cancel=True, partial_results=True, background=True, resume=False)

    def __init__(self, binding: Binding, tool: Tool, fitted: Fit, threads: Threads, children: Children) -> None:
        """Raises BindingError."""
        refuse_injected(binding, fitted.injected)
        super().__init__(binding, tool, fitted, threads)
        self.wants_context = True
        self._place = locate_function(binding)
        self._children = children

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        """What the function returned there."""
        if self._fit.whole is not None:
            arguments = {self._fit.whole: arguments}
        named = {self._fit.renamed.get(field, field): value for field, value in arguments.items()}
        plain = {name: getattr(context, name) for name in _PLAIN}
        told = {**plain, "credentials": dict(context.credentials), "values": dict(context.values)}
        asked = CallFrame(self._place, self._name, named, told)
        value = await self._children.run(asked, self._binding.env, context)
        if not self._fit.wraps or isinstance(value, Output | Waiting) or value is EMPTY:
            return value
        return _wrap(self._fit.wraps, value)


def _wrap(member: str, value: Any) -> dict[str, Any]:
    """A function's value as the one member of its tool's result, unless it is that already."""
    return value if isinstance(value, dict) and value.keys() == {member} else {member: value}
