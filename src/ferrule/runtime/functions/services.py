"""Injects services, the logger and the agent's config into tools; each service is made once and closed when the app
ends.

An `Injection` belongs to one tool. It is checked when the tool is prepared, so that a missing service fails early,
and resolved at the first call: a refused call runs no factory. A factory runs in a task of its own, so that a
canceled call does not cancel it; the next call retries a failed one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AsyncContextDecorator, ContextDecorator, asynccontextmanager, contextmanager, suppress
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.surface import CatalogView
from ferrule.infra.tasks import is_from_outside
from ferrule.model.native_definition import CONFIG, LOGGER
from ferrule.model.tool import Tool
from ferrule.runtime.functions.config import Config, OnSecret
from ferrule.runtime.functions.factories import Factory, FactorySources, read_factory
from ferrule.runtime.functions.failures import describe_error, format_stack
from ferrule.runtime.functions.inject import is_config, map_parameters, to_snake_case
from ferrule.runtime.functions.threads import Threads

MAKING_SECONDS = 60.0
CLOSING_SECONDS = 10.0
_log = logging.getLogger("ferrule.services")


class ServiceMaker:
    """Makes services, and closes them in the opposite order."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._closing: list[tuple[str, Callable[[], Any]]] = []

    async def get(self, key: Hashable, make: Callable[[], Awaitable[object]]) -> object:
        """Returns the service under a key, making it first if needed. Raises ExecutionFailed."""
        task = self._tasks.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            # A task of its own: canceling the call that asked first must not cancel the factory that others wait for.
            task = self._tasks[key] = asyncio.ensure_future(make())
            task.add_done_callback(_mark_retrieved)
        # Without the shield, canceling one waiting call would cancel the task for all.
        return await asyncio.shield(task)

    async def make(self, service: str, factory: Factory, given: dict[str, Any]) -> object:
        """Makes a service with its factory. Raises ExecutionFailed (`setup_required`) that names the factory, without
        its error text."""
        try:
            async with asyncio.timeout(MAKING_SECONDS):
                made = await self._call_factory(service, factory, given)
        except ExecutionFailed:
            raise
        except BaseException as error:
            if is_from_outside(error):
                raise
            kind = type(error).__qualname__
            _log.error("the service %r could not be made: %s\n%s", service, describe_error(error), format_stack(error))
            _log.debug("the service %r could not be made", service, exc_info=error)
            message = f"the service {service!r} could not be made: its factory {factory.label} failed ({kind})"
            raise ExecutionFailed("setup_required", message) from error
        if made is None:
            message = f"the service {service!r} could not be made: its factory {factory.label} gave nothing"
            raise ExecutionFailed("setup_required", message)
        return made

    async def aclose(self) -> None:
        """Closes every service, the newest first. One that fails to close does not keep the others open."""
        unfinished = [task for task in self._tasks.values() if not task.done()]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        while self._closing:
            service, close = self._closing.pop()
            try:
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self._run_close(close)
            except BaseException as error:
                if is_from_outside(error):
                    raise
                _log.warning("the service %r could not be closed (%s)", service, type(error).__qualname__)
        self._tasks.clear()

    async def _call_factory(self, service: str, factory: Factory, given: dict[str, Any]) -> object:
        function: Callable[..., Any] = factory.function
        if inspect.isasyncgenfunction(function):
            function = asynccontextmanager(function)
        elif inspect.isgeneratorfunction(function):
            function = contextmanager(function)
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(factory.function)
        # A plain factory may block, so it runs in a thread; calling an async one only creates its coroutine.
        made = function(**given) if is_async else await self._threads.run(lambda: function(**given))
        if inspect.isawaitable(made):
            made = await made
        return await self._enter_service(service, made)

    async def _enter_service(self, service: str, made: object) -> object:
        """Returns the service itself, and remembers how to close it."""
        if isinstance(made, AsyncContextDecorator):
            entered = await made.__aenter__()  # type: ignore[attr-defined]  # of asynccontextmanager
            self._closing.append((service, lambda: made.__aexit__(None, None, None)))  # type: ignore[attr-defined]
            return entered
        if isinstance(made, ContextDecorator):
            entered = await self._threads.run(made.__enter__)  # type: ignore[attr-defined]  # of contextmanager
            self._closing.append((service, lambda: made.__exit__(None, None, None)))  # type: ignore[attr-defined]
            return entered
        close = None if isinstance(made, type) else getattr(made, "aclose", None) or getattr(made, "close", None)
        if callable(close):
            self._closing.append((service, close))
        return made

    async def _run_close(self, function: Callable[[], object]) -> None:
        """Runs a close function of either kind; a plain one may block, so it gets a thread."""
        waiting = inspect.iscoroutinefunction(function)
        value = function() if waiting else await self._threads.run(function)
        if inspect.isawaitable(value):
            await value


def _mark_retrieved(task: asyncio.Task[Any]) -> None:
    """Retrieves a task's exception, so that the event loop does not report it when no call waits any more."""
    with suppress(asyncio.CancelledError):
        task.exception()


TOOLS_LOG, SERVICES_LOG = "ferrule.tools", "ferrule.services"


class InjectionScope:
    """The values that the tools of one agent may get: its manifest's services, or the marked services for other
    tools."""

    def __init__(
        self,
        name: str,
        services: Mapping[str, object],
        config: Config | None,
        sources: FactorySources,
        maker: ServiceMaker,
    ):
        self._name = name
        self._services = services
        self._config = config
        self._sources = sources
        self._maker = maker
        self._factories: dict[str, Factory] = {}
        sections = config.sections if config is not None else ()
        builtin = (LOGGER, *((CONFIG,) if config is not None else ()), *(f"{CONFIG}.{name}" for name in sections))
        self._names = map_parameters((*services, *builtin))

    def check(self, entry: str, under: tuple[str, ...] = ()) -> None:
        """Raises ExecutionFailed (`setup_required`) for an entry that cannot be injected: unset variables, unknown
        factories, cycles."""
        first, _, path = entry.partition(".")
        if first in self._services:
            if first in under:
                circle = " needs ".join((*under[under.index(first) :], first))
                raise ExecutionFailed("setup_required", f"services need each other: {circle}; break the circle")
            for needed in self._map_needs(first).values():
                self.check(needed, (*under, first))
        elif is_config(entry) and self._config is not None:
            self._config.get(path)
        elif entry != LOGGER:
            raise ExecutionFailed(
                "setup_required", f'there is no service {first!r}; mark its factory with @ferrule.service("{first}")'
            )

    async def get(self, entry: str, log: str) -> object:
        """Returns the value of an entry; `log` names the logger. Raises ExecutionFailed."""
        first, _, path = entry.partition(".")
        if first in self._services:
            value = await self._maker.get((self._name, first), lambda: self._make(first))
            return _follow_path(value, path, entry)
        if is_config(entry) and self._config is not None:
            return self._config.get(path)
        return logging.getLogger(log)

    async def _make(self, service: str) -> object:
        log = f"{SERVICES_LOG}.{service}"
        given = {name: await self.get(entry, log) for name, entry in self._map_needs(service).items()}
        return await self._maker.make(service, self._get_factory(service), given)

    def _map_needs(self, service: str) -> dict[str, str]:
        """Maps a factory's parameters to the entries they get."""
        factory = self._get_factory(service)
        needs: dict[str, str] = {}
        for name, asked in factory.wants.items():
            entry = asked or self._names.get(name)
            # A parameter named like its own service needs an annotation: by its name alone it would be a circle.
            if entry is not None and (entry != service or asked):
                needs[name] = entry
            elif name in factory.needs:
                raise ExecutionFailed(
                    "setup_required",
                    f"the service {service!r} cannot be made: its factory {factory.label} wants {name!r}, which is neither"
                    " logger, config, a section of it nor a service; give it a default",
                )
        return needs

    def _get_factory(self, service: str) -> Factory:
        if service not in self._factories:
            self._factories[service] = self._find_factory(service)
        return self._factories[service]

    def _find_factory(self, service: str) -> Factory:
        stated = self._services[service]
        if callable(stated):
            return read_factory(service, stated)
        name = stated.get("factory") if isinstance(stated, dict) else None
        return self._sources.find(service, name if isinstance(name, str) else service)


class Injection:
    """The injected values of one tool."""

    def __init__(self, wanted: Mapping[str, str], scope: InjectionScope, log: str) -> None:
        self._wanted = wanted
        self._scope = scope
        self._log = log
        self.values: dict[str, Any] | None = None
        """By parameter; None until they were first needed."""
        # Checked when the tool is prepared: a missing service shows before the first call, not in it.
        for entry in wanted.values():
            scope.check(entry)

    async def resolve(self) -> dict[str, Any]:
        """Returns the values, resolved at the first call. Raises ExecutionFailed (`setup_required`)."""
        if self.values is None:
            self.values = {name: await self._scope.get(entry, self._log) for name, entry in self._wanted.items()}
        return self.values


class Injections:
    """The injections of one app."""

    def __init__(
        self,
        catalog: CatalogView | None = None,
        sources: Iterable[object] = (),
        environment: Mapping[str, str] | None = None,
        on_secret: OnSecret | None = None,
    ) -> None:
        self._catalog = catalog
        self._sources = FactorySources(sources)
        self._environment = dict(environment or {})
        self._on_secret = on_secret
        self._scopes: dict[tuple[str, str | None], InjectionScope] = {}
        self._maker: ServiceMaker | None = None

    def prepare(self, tool: Tool, wanted: Mapping[str, str], threads: Threads) -> Injection | None:
        """Prepares the injection of a tool; None when it wants nothing. Raises ExecutionFailed (`setup_required`)."""
        if not wanted:
            return None
        if self._maker is None:
            self._maker = ServiceMaker(threads)
        # Versions of one agent have manifests of their own, and so their own services.
        key = (tool.namespace, tool.version) if tool.dialect == "adl" else ("", None)
        if key not in self._scopes:
            self._scopes[key] = self._make_scope(tool, self._maker)
        return Injection(wanted, self._scopes[key], f"{TOOLS_LOG}.{tool.tool_id}")

    def report_secrets(self) -> None:
        """Reports every value that an agent's config takes from the environment, before any tool gets one, so that it
        is redacted everywhere."""
        if self._catalog is None or self._on_secret is None:
            return
        for record in self._catalog.records("manifest"):
            written = bytes(record.payload)
            # `\u0024` is an escaped `$`: JSON may spell a placeholder so.
            if b"${" in written or b"\\u0024" in written:
                spec = msgspec.json.decode(written).get("spec")
                Config(spec.get("config") if isinstance(spec, dict) else None, self._environment, self._on_secret)

    async def aclose(self) -> None:
        """Closes every service."""
        if self._maker is not None:
            await self._maker.aclose()

    def _make_scope(self, tool: Tool, maker: ServiceMaker) -> InjectionScope:
        if tool.dialect != "adl":
            return InjectionScope("", self._sources.marked_factories, None, self._sources, maker)
        spec = self._find_manifest(tool).get("spec")
        spec = spec if isinstance(spec, dict) else {}
        services = spec.get("services")
        config = Config(spec.get("config"), self._environment, self._on_secret)
        name = f"{tool.namespace}@{tool.version or ''}"
        return InjectionScope(name, services if isinstance(services, dict) else {}, config, self._sources, maker)

    def _find_manifest(self, tool: Tool) -> dict[str, Any]:
        """Finds the compiled manifest of the tool's agent, of the tool's own version."""
        if self._catalog is None:
            return {}
        for record in self._catalog.records("manifest"):
            if record.record_id == tool.namespace and record.version == tool.version:
                payload: dict[str, Any] = msgspec.json.decode(record.payload)
                return payload
        return {}


def _follow_path(value: object, path: str, entry: str) -> object:
    """Returns an attribute of a service: `repo.reader` is its attribute `reader`."""
    for name in path.split(".") if path else ():
        found = getattr(value, name, getattr(value, to_snake_case(name), None))
        if found is None:
            raise ExecutionFailed("setup_required", f"{entry!r} cannot be injected: the service has no {name!r}")
        value = found
    return value
