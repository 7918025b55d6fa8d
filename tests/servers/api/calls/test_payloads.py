"""Stored results over HTTP: whole, in ranges, and to nobody else."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api

WHOLE = b"0123456789" * 500


@driven
async def test_a_stored_result_is_listed_and_read(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "report", {"size": 5000})
        found = (await here.ask("ada", "GET", f"/v1/calls/{call}/payloads")).json()["items"]
        assert [(one["number"], one["size"], one["is_there"]) for one in found] == [(0, 5000, True)]
        reply = await here.ask("ada", "GET", found[0]["address"])
        assert reply.body == WHOLE
        assert reply.headers["content-type"].startswith("text/plain")
        assert reply.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        again = await here.ask("ada", "GET", found[0]["address"], If_None_Match=reply.headers["etag"])
        assert again.status == 304


@driven
async def test_ranges_give_exactly_those_bytes(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "report", {"size": 5000})
        path = f"/v1/calls/{call}/payloads/0"
        for said, first, last in (("bytes=0-9", 0, 9), ("bytes=4990-", 4990, 4999), ("bytes=-5", 4995, 4999),
                                  ("bytes=10-99999", 10, 4999)):  # fmt: skip
            reply = await here.ask("ada", "GET", path, Range=said)
            assert (reply.status, reply.body) == (206, WHOLE[first : last + 1])
            assert reply.headers["content-range"] == f"bytes {first}-{last}/5000"
        for said in ("bytes=5000-", "bytes=-0"):
            beyond = await here.ask("ada", "GET", path, Range=said)
            assert (beyond.status, beyond.headers["content-range"]) == (416, "bytes */5000")
        for nonsense in ("bytes=9-3", "bytes=-", "chars=0-1", "bytes=0-1,3-4", "bytes=a-b"):
            assert (await here.ask("ada", "GET", path, Range=nonsense)).status == 200
        assert (await here.ask("ada", "GET", path, Range="bytes=0-9", If_Range='"other"')).status == 200


@driven
async def test_a_payload_that_is_not_there_or_not_ones_own_is_not_found(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "report", {"size": 5000})
        for who, number in (
            ("bob", "0"),
            ("ada of acme", "0"),
            ("ada", "1"),
            ("ada", "01"),
            ("ada", "x"),
            ("ada", "-1"),
        ):
            assert (await here.ask(who, "GET", f"/v1/calls/{call}/payloads/{number}")).status == 404
        assert (await here.ask("oda", "GET", f"/v1/calls/{call}/payloads/0")).status == 200
        short = await here.called("ada", "add", {"a": 1, "b": 2})
        assert (await here.ask("ada", "GET", f"/v1/calls/{short}/payloads")).json() == {"items": []}
