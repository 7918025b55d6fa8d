"""What a route is handed of a request: headers and queries are taken strictly, and told what would be right."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_headers_that_mean_something_are_taken_strictly(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for name in ("Ferrule_Run", "Idempotency_Key"):
            for wrong in ("", "two words", "x" * 300, "é"):
                reply = await here.call("ada", "add", {"a": 1, "b": 2}, **{name: wrong})
                assert (reply.status, reply.json()["code"]) == (400, "invalid_header"), (name, wrong)
                assert reply.json()["detail"].endswith("visible characters of ASCII, without spaces")


@driven
async def test_a_query_that_is_wrong_is_told_what_would_be_right(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for query, told in (("limit=0", "the parameter 'limit' takes a whole number >= 1"),
                            ("limit=x", "the parameter 'limit' takes a whole number"),
                            ("tool=", "the parameter 'tool' takes a text of length >= 1")):  # fmt: skip
            assert (await here.ask("ada", "GET", f"/v1/invocations?{query}")).json()["detail"] == told
