"""Calls counted by how they stand and over time, for those who may see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.servers.api.calls import tallies
from ferrule.servers.api.calls.tallies import width_for
from ferrule.servers.api.openapi import build_openapi
from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_calls_are_counted_for_those_who_may_see_them(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for _ in range(3):
            await here.called("ada", "add", {"a": 1, "b": 1})
        await here.called("ada", "fail")
        await here.called("ada", "pay", {"amount": 1})
        await here.called("bob", "add", {"a": 1, "b": 1})
        await here.called("ada of acme", "add", {"a": 1, "b": 1})

        async def tally(who: str, query: str = "") -> tuple[dict[str, int], dict[str, int]]:
            reply = (await here.ask(who, "GET", f"/v1/invocations/tally?{query}")).json()
            assert reply["is_complete"]
            over_time = [stretch["ended"] for stretch in reply["stretches"]]
            assert sum(sum(ended.values()) for ended in over_time) == sum(reply["ended"].values())
            return reply["ended"], reply["open"]

        assert await tally("oda") == ({"succeeded": 5, "failed": 1}, {"waiting": 1})
        assert await tally("ada") == ({"succeeded": 3, "failed": 1}, {"waiting": 1})
        assert await tally("bob") == ({"succeeded": 1}, {})
        assert await tally("oda of acme") == await tally("ada of acme") == ({"succeeded": 1}, {})
        assert await tally("oda", "tool=add") == ({"succeeded": 5}, {})
        assert await tally("oda", "principal=ada&tool=add") == ({"succeeded": 4}, {})
        assert await tally("oda", "until=2020-01-02T00:00:00Z") == ({}, {"waiting": 1})
        for query in ("standing=failed", "status=failed", "stretches=0", "since=x"):
            assert (await here.ask("oda", "GET", f"/v1/invocations/tally?{query}")).status == 400
    taken = {one["name"] for one in build_openapi()["paths"]["/v1/invocations/tally"]["get"]["parameters"]}
    assert not taken & {"standing", "status"}, "calls are counted by how they stand"


@driven
async def test_a_count_says_when_it_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "_MOST_ROWS", 3)
    monkeypatch.setattr(tallies, "_MOST_READ", 2)
    async with api(tmp_path) as here:
        for _ in range(5):
            await here.called("ada", "add", {"a": 1, "b": 1})
        for who, counted in (("oda", 3), ("ada", 2)):
            tally = (await here.ask(who, "GET", "/v1/invocations/tally")).json()
            assert not tally["is_complete"]
            assert tally["ended"] == {"succeeded": counted}
            assert tally["counted_since"] > tally["since"]


def test_stretches_of_time_are_round() -> None:
    hour = 3600 * 1_000_000
    assert width_for(24 * hour, 96) == hour // 4
    assert width_for(hour, 96) == hour // 60
    assert width_for(7 * 24 * hour, 96) == 2 * hour
    assert width_for(0, 96) == 1_000_000
    for span in (1, hour, 24 * hour * 1000):
        assert width_for(span, 10) * 10 >= span
