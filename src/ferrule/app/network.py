"""Makes the HTTP client of a workspace, as its settings have it. Everything that speaks HTTP goes through such a client."""

from __future__ import annotations

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.settings import Settings


def client_of(settings: Settings) -> Client:
    """A client of its own: one for an event loop."""
    return Client(Guard(settings.network.allow), per_host=settings.rest.max_connections_per_host)
