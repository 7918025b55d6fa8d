"""Joins a catalog with the Python functions of this process: tools of their own, and implementations of definitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ferrule.contracts.catalog import CatalogView
from ferrule.executors.function import FunctionExecutor
from ferrule.functions import functions_in
from ferrule.functions.config import OnSecret
from ferrule.functions.services import Injections
from ferrule.model.tool import Tool
from ferrule.surface.catalogs import JoinedCatalog


def joined(
    catalog: CatalogView,
    given: Iterable[Any],
    namespace: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    on_secret: OnSecret | None = None,
) -> tuple[CatalogView, FunctionExecutor]:
    """The catalog with the functions' own tools (and ready-made ones) added, and the executor that runs the functions.

    `environment`: what `${VAR}` in an agent's config stands for, the process's own where none is given; `on_secret` is told
    each such value, whether or not a tool is ever given it. Raises BindingError for a function that does not fit the
    definition it is bound to, CatalogError for a name that is taken.
    """
    members = list(given)
    sources = [one for one in members if not isinstance(one, Tool)]
    injections = Injections(catalog, sources, os.environ if environment is None else environment, on_secret)
    injections.tell_secrets()
    functions = FunctionExecutor(functions_in(sources, namespace), injections=injections)
    ready = [one for one in members if isinstance(one, Tool)]
    view = JoinedCatalog(catalog, (*functions.tools, *ready)) if functions.tools or ready else catalog
    functions.check(_meant(view, functions.wanted))
    return view, functions


def _meant(view: CatalogView, names: Iterable[str]) -> Iterator[Tool]:
    for name in names:
        for tool_id in view.named(name.partition("@")[0]):
            yield from (listed.tool for listed in view.versions(tool_id))
