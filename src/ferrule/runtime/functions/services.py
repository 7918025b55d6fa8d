"""What can be injected into tools: the logger, the agent's config, and its services.

An `Injection` belongs to one tool. It is checked when the tool is prepared, so that what is missing is told before anything
runs, and resolved at the first call: no factory runs for a call that was refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ferrule.contracts.catalog import CatalogView
from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.injection import CONFIG, LOGGER
from ferrule.model.python_names import snake
from ferrule.model.tool import Tool
from ferrule.runtime.functions.config import Config, OnSecret
from ferrule.runtime.functions.factories import Factory, Sources, read_factory
from ferrule.runtime.functions.inject import is_config, parameter_names
from ferrule.runtime.functions.making import Maker
from ferrule.runtime.functions.threads import Threads

TOOLS_LOG, SERVICES_LOG = "ferrule.tools", "ferrule.services"


class Scope:
    """What the tools of one agent may be given, by the services of its manifest; other tools get the marked services."""

    def __init__(self, name: str, services: Mapping[str, Any], config: Config | None, sources: Sources, maker: Maker):
        self._name = name
        self._services = services
        self._config = config
        self._sources = sources
        self._maker = maker
        self._factories: dict[str, Factory] = {}
        sections = config.sections if config is not None else ()
        builtin = (LOGGER, *((CONFIG,) if config is not None else ()), *(f"{CONFIG}.{name}" for name in sections))
        self._names = parameter_names((*services, *builtin))

    def check(self, entry: str, under: tuple[str, ...] = ()) -> None:
        """Raises ExecutionFailed (`setup_required`) for what cannot be given: unset variables, unknown factories, circles."""
        first, _, path = entry.partition(".")
        if first in self._services:
            if first in under:
                circle = " needs ".join((*under[under.index(first) :], first))
                raise ExecutionFailed("setup_required", f"services need each other: {circle}; break the circle")
            for needed in self._needs(first).values():
                self.check(needed, (*under, first))
        elif is_config(entry) and self._config is not None:
            self._config.get(path)
        elif entry != LOGGER:
            raise ExecutionFailed(
                "setup_required", f'there is no service {first!r}; mark its factory with @ferrule.service("{first}")'
            )

    async def get(self, entry: str, log: str) -> Any:
        """What an entry stands for; `log` names the logger. Raises ExecutionFailed."""
        first, _, path = entry.partition(".")
        if first in self._services:
            value = await self._maker.get((self._name, first), lambda: self._made(first))
            return _below(value, path, entry)
        if is_config(entry) and self._config is not None:
            return self._config.get(path)
        return logging.getLogger(log)

    async def _made(self, service: str) -> Any:
        log = f"{SERVICES_LOG}.{service}"
        given = {name: await self.get(entry, log) for name, entry in self._needs(service).items()}
        return await self._maker.make(service, self._factory(service), given)

    def _needs(self, service: str) -> dict[str, str]:
        """What a factory's parameters get."""
        factory = self._factory(service)
        needs: dict[str, str] = {}
        for name, asked in factory.wants.items():
            entry = asked or self._names.get(name)
            if entry is not None and (entry != service or asked):
                needs[name] = entry
            elif name in factory.needs:
                raise ExecutionFailed(
                    "setup_required",
                    f"the service {service!r} cannot be made: its factory {factory.label} wants {name!r}, which is neither"
                    " logger, config, a section of it nor a service; give it a default",
                )
        return needs

    def _factory(self, service: str) -> Factory:
        if service not in self._factories:
            self._factories[service] = self._found(service)
        return self._factories[service]

    def _found(self, service: str) -> Factory:
        stated = self._services[service]
        if callable(stated):
            return read_factory(service, stated)
        name = stated.get("factory") if isinstance(stated, dict) else None
        return self._sources.find(service, name if isinstance(name, str) else service)


class Injection:
    """What one tool is given besides its arguments."""

    def __init__(self, wanted: Mapping[str, str], scope: Scope, log: str) -> None:
        self._wanted = wanted
        self._scope = scope
        self._log = log
        self.values: dict[str, Any] | None = None
        """By parameter; None until they were first needed."""
        for entry in wanted.values():
            scope.check(entry)

    async def resolve(self) -> dict[str, Any]:
        """The values, made now if they were not. Raises ExecutionFailed (`setup_required`)."""
        if self.values is None:
            self.values = {name: await self._scope.get(entry, self._log) for name, entry in self._wanted.items()}
        return self.values


class Injections:
    """Everything that can be injected in one app."""

    def __init__(
        self,
        catalog: CatalogView | None = None,
        sources: Iterable[Any] = (),
        environment: Mapping[str, str] | None = None,
        on_secret: OnSecret | None = None,
    ) -> None:
        self._catalog = catalog
        self._sources = Sources(sources)
        self._environment = dict(environment or {})
        self._on_secret = on_secret
        self._scopes: dict[tuple[str, str | None], Scope] = {}
        self._maker: Maker | None = None

    def of(self, tool: Tool, wanted: Mapping[str, str], threads: Threads) -> Injection | None:
        """What a tool is given; None when it wants nothing. Raises ExecutionFailed (`setup_required`)."""
        if not wanted:
            return None
        if self._maker is None:
            self._maker = Maker(threads)
        key = (tool.namespace, tool.version) if tool.dialect == "adl" else ("", None)
        if key not in self._scopes:
            self._scopes[key] = self._scope(tool, self._maker)
        return Injection(wanted, self._scopes[key], f"{TOOLS_LOG}.{tool.tool_id}")

    def tell_secrets(self) -> None:
        """Tell every value that some agent's config takes from the environment, before any tool is given one: whatever else
        gets hold of it must not tell it either."""
        if self._catalog is None or self._on_secret is None:
            return
        for record in self._catalog.records("manifest"):
            written = bytes(record.payload)
            if b"${" in written or b"\\u0024" in written:
                spec = msgspec.json.decode(written).get("spec")
                Config(spec.get("config") if isinstance(spec, dict) else None, self._environment, self._on_secret)

    async def aclose(self) -> None:
        """Let go of every service."""
        if self._maker is not None:
            await self._maker.aclose()

    def _scope(self, tool: Tool, maker: Maker) -> Scope:
        if tool.dialect != "adl":
            return Scope("", self._sources.marked, None, self._sources, maker)
        spec = self._manifest(tool).get("spec")
        spec = spec if isinstance(spec, dict) else {}
        services = spec.get("services")
        config = Config(spec.get("config"), self._environment, self._on_secret)
        name = f"{tool.namespace}@{tool.version or ''}"
        return Scope(name, services if isinstance(services, dict) else {}, config, self._sources, maker)

    def _manifest(self, tool: Tool) -> dict[str, Any]:
        """The agent's file as it was compiled, of the tool's own version."""
        if self._catalog is None:
            return {}
        for record in self._catalog.records("manifest"):
            if record.record_id == tool.namespace and record.version == tool.version:
                payload: dict[str, Any] = msgspec.json.decode(record.payload)
                return payload
        return {}


def _below(value: Any, path: str, entry: str) -> Any:
    """Something of a service: `repo.reader` is its attribute `reader`."""
    for name in path.split(".") if path else ():
        found = getattr(value, name, getattr(value, snake(name), None))
        if found is None:
            raise ExecutionFailed("setup_required", f"{entry!r} cannot be injected: the service has no {name!r}")
        value = found
    return value
