"""One server over HTTP for all tests of a file that only call it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.executors.mcp.servers import HttpServer, http_server


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server("official", tmp_path_factory.mktemp("notes")) as server:
        yield server
