"""Rows become results: shaped by the output schema, streamed when many, and never cut in silence."""

from __future__ import annotations

import json
from typing import Any

from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.upstreams import DatabaseUpstreams
from tests.runtime.executors.database.orders import ORDERS, TEXT, WHOLE, play, sessions, whole
from tests.runtime.executors.database.real_databases import Place, asked, asking, refused, tool
from tests.runtime.executors.database.real_databases import given as gives_back


def test_the_output_schema_says_what_a_result_looks_like() -> None:
    async def story(place: Place) -> None:
        one = {"type": "object", "properties": {"id": WHOLE, "name": TEXT}, "required": ["id"]}
        ask = "SELECT * FROM t WHERE id <= :most ORDER BY id"
        async with asking(
            tool("orders", ask, takes={"most": WHOLE}, gives=ORDERS),
            tool("plain", ask, takes={"most": WHOLE}),
            tool("single", ask, takes={"most": WHOLE}, gives=one),
            members=place.members,
        ) as app:
            rows = [{"id": 1, "name": "n1"}, {"id": 2, "name": "n2"}]
            assert await gives_back(app, "orders", {"most": 2}) == {"orders": rows}
            assert await gives_back(app, "plain", {"most": 2}) == {"rows": rows, "row_count": 2}
            assert await gives_back(app, "plain", {"most": 0}) == {"rows": [], "row_count": 0}
            assert await gives_back(app, "single", {"most": 1}) == rows[0]
            assert (await refused(app, "single", {"most": 2}))[1] == "several_rows"
            assert (await refused(app, "single", {"most": 0}))[1] == "no_row"

    play(story)


def test_many_rows_are_streamed_to_a_stored_result(tmp_path: Any) -> None:
    async def story(place: Place) -> None:
        many = "SELECT g AS id, repeat('x', 100) AS filler FROM generate_series(1, :count) g"
        payloads = FilePayloads(tmp_path, lambda: 1)
        async with asking(
            tool("many", many, takes={"count": WHOLE}, gives=ORDERS, x_max_rows=50_000),
            members=place.members,
            payloads=payloads,
        ) as app:
            result = await asked(app, "many", {"count": 40_000})
            assert result.status == "succeeded", result.error
            assert result.structured_content is None
            kept = next(block for block in result.content if block["type"] == "persisted_output_ref")
            stored = await whole(app, kept["uri"])
            rows = json.loads(stored)["orders"]
            assert len(rows) == 40_000
            assert rows[-1] == {"id": 40_000, "filler": "x" * 100}
            too_many = await asked(app, "many", {"count": 50_001})
            assert too_many.status == "too_large"
            assert "50,000 rows" in str(too_many.error)
            assert await sessions(place, "%transaction%") == 0

    play(story)


def test_limits_are_told_and_nothing_is_cut_in_silence() -> None:
    async def story(place: Place) -> None:
        ask = "SELECT id FROM t ORDER BY id"
        limits = DatabaseUpstreams(max_rows=999, max_bytes=5_000)
        async with asking(
            tool("rows", ask, x_max_rows=10),
            tool("first", ask, x_max_rows=10, x_truncate=True),
            tool("fits", ask + " LIMIT 10", x_max_rows=10, x_truncate=True),
            tool("bytes", "SELECT repeat('x', 6000) AS long"),
            tool("change", "DELETE FROM t RETURNING id", kind="action", x_max_rows=10),
            members=place.members,
            limits=limits,
        ) as app:
            assert await refused(app, "rows") == ("result_too_large", "too_many_rows", "")
            rows = [{"id": number} for number in range(1, 11)]
            assert await gives_back(app, "first") == {"rows": rows, "row_count": 10, "truncated": True}
            assert await gives_back(app, "fits") == {"rows": rows, "row_count": 10, "truncated": False}
            assert (await refused(app, "bytes"))[1] == "too_many_bytes"
            result = await asked(app, "change")
            assert result.error is not None
            assert "taken back" in result.error.message
        assert (await place.run("SELECT count(*) FROM t"))[0][0] == 1000

    play(story)
