"""Joins a catalog with the Python functions of this process: tools of their own, and implementations of definitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ferrule.contracts.surface import CatalogView
from ferrule.errors import BindingError
from ferrule.model.tool import ResourceExposure, Tool
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import functions_in
from ferrule.runtime.functions.children import DEFAULT_PROCESSES
from ferrule.runtime.functions.config import OnSecret
from ferrule.runtime.functions.services import Injections
from ferrule.runtime.functions.threads import DEFAULT_SIZE
from ferrule.runtime.surface.catalogs import JoinedCatalog
from ferrule.schema.mirrored_headers import find_mirrored


def join_functions(
    catalog: CatalogView,
    given: Iterable[object],
    namespace: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    on_secret: OnSecret | None = None,
    threads: int = DEFAULT_SIZE,
    processes: int = DEFAULT_PROCESSES,
    isolate: Iterable[str] = (),
) -> tuple[CatalogView, FunctionExecutor]:
    """Adds the functions' own tools (and ready-made ones) to the catalog, and makes the executor that runs the
    functions.

    `environment`: what `${VAR}` in an agent's config stands for, the process's own where none is given; `on_secret`
    receives each such value, whether or not a tool ever gets it. `threads`, `processes`: how many there are at
    most; `isolate`: tools whose functions run in processes of their own. Raises BindingError for a function that does
    not fit the definition it is bound to, CatalogError for a name that is taken.
    """
    members = list(given)
    sources = [one for one in members if not isinstance(one, Tool)]
    env = os.environ if environment is None else environment
    injections = Injections(catalog, sources, env, on_secret)
    injections.report_secrets()
    functions = FunctionExecutor(
        functions_in(sources, namespace),
        threads=threads,
        injections=injections,
        isolate=isolate,
        processes=processes,
        environment=env,
    )
    _refuse_shared_uri(functions.tools)
    _refuse_headers(functions.tools)
    ready = [one for one in members if isinstance(one, Tool)]
    view = JoinedCatalog(catalog, (*functions.tools, *ready)) if functions.tools or ready else catalog
    functions.check(_find_bound_tools(view, functions.bound_names))
    return view, functions


def rejoin_functions(catalog: CatalogView, ready: Iterable[Tool], functions: FunctionExecutor) -> CatalogView:
    """Adds the same functions' tools and ready-made ones to another catalog. Raises BindingError or CatalogError."""
    tools = (*functions.tools, *ready)
    view = JoinedCatalog(catalog, tools) if tools else catalog
    functions.check(_find_bound_tools(view, functions.bound_names))
    return view


def _refuse_shared_uri(tools: Iterable[Tool]) -> None:
    """Raises BindingError for two resources with one address: reads of it would be ambiguous."""
    found: dict[str, Tool] = {}
    for tool in tools:
        if isinstance(tool.exposed_as, ResourceExposure):
            other = found.setdefault(tool.exposed_as.uri, tool)
            if other is not tool:
                raise BindingError(
                    f"the resources {other.tool_id!r} and {tool.tool_id!r} have one address, {tool.exposed_as.uri!r}; change one"
                )


def _refuse_headers(tools: Iterable[Tool]) -> None:
    """Raises BindingError for parameters that must be HTTP headers and cannot be: clients would refuse the whole
    tool."""
    for tool in tools:
        try:
            find_mirrored(msgspec.json.decode(tool.input_schema))
        except ValueError as problem:
            raise BindingError(f"tool {tool.tool_id!r} cannot be used by MCP clients: {problem}") from None


def _find_bound_tools(view: CatalogView, names: Iterable[str]) -> Iterator[Tool]:
    for name in names:
        for tool_id in view.find_ids(name.partition("@")[0]):
            yield from (listed.tool for listed in view.versions(tool_id))
