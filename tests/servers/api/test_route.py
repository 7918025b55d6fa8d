"""Finding what is at a path: methods that cannot be used are named, and paths that lead nowhere are not found."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_methods_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for method in ("DELETE", "PATCH", "PUT", "TRACE", "GET", "BREW"):
            reply = await here.ask("ada", method, "/v1/calls")
            assert (reply.status, reply.headers["allow"]) == (405, "POST, OPTIONS")
        options = await here.ask("ada", "OPTIONS", "/v1/tools")
        assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
        assert (await here.ask("ada", "HEAD", "/v1/tools")).status == 200
        assert (await here.ask("ada", "HEAD", "/v1/tools/none")).status == 404


@driven
async def test_paths_that_lead_nowhere_are_not_found(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for path in ("/v1/", "/v1/nothing", "/v1/tools/", "/v1//tools", "/v1/calls/a/b/c/d", "/v1/calls//events"):
            reply = await here.ask("ada", "GET", path)
            assert (reply.status, reply.json()["code"]) == (404, "not_found"), path
