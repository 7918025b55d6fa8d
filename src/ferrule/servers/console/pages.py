"""Every page of the console. Adding one is one function and one record beside it."""

from __future__ import annotations

from ferrule.servers.console import home, shell
from ferrule.servers.console.calls import batches, invocations
from ferrule.servers.console.catalog import agents, catalog, trying
from ferrule.servers.console.inbox import inbox
from ferrule.servers.console.oversight import audit, policy
from ferrule.servers.console.page import Page

PAGES: tuple[Page, ...] = (
    *home.PAGES,
    *catalog.PAGES,
    *trying.PAGES,
    *inbox.PAGES,
    *invocations.PAGES,
    *batches.PAGES,
    *policy.PAGES,
    *agents.PAGES,
    *audit.PAGES,
    *shell.PAGES,
)
