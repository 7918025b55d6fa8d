"""Services that tests talk to. Where one is not there its tests are skipped, or fail where everything has to be there."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest

_PORTS = {"postgresql": 5432, "mariadb": 3306, "redis": 6379, "rabbitmq": 5672, "nats": 4222}


def require(service: str) -> int:
    """The loopback port of a service that has to be there for a test to mean anything."""
    port = int(os.environ.get(f"FERRULE_TEST_{service.upper()}_PORT", _PORTS.get(service, 0)))
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return port
    except OSError:
        missing(service)


def missing(service: str, why: str = "it does not answer") -> NoReturn:
    """Skip, or fail where every service has to be there."""
    reason = f"needs service {service}: {why}"
    if os.environ.get("FERRULE_REQUIRE_SERVICES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
