"""Every page of the console. Adding one is one function and one record beside it."""

from __future__ import annotations

from ferrule.servers.console import agents, audit, batches, catalog, home, inbox, invocations, policy, shell, trying
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
