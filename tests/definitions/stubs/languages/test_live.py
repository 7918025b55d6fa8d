"""The server that client stubs are tried against does what its tools promise."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.definitions.stubs.languages.live import Live, live


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("live") / "workspace") as running:
        yield running


def _called(server: Live, tool: str, **arguments: Any) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    data = json.dumps({"tool": tool, "arguments": arguments}).encode()
    request = urllib.request.Request(f"{server.url}/v1/calls", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        return refused.code, json.load(refused)


def test_each_tool_ends_as_it_says(server: Live) -> None:
    status, greeted = _called(server, "Live_Greet", name="Ada", times=2, mood="glad")
    assert (status, greeted["result"]["structured_content"]["words"]) == (200, ["hello Ada", "hello Ada"])
    status, denied = _called(server, "Live_Forbidden", meant=True)
    assert (status, denied["error_class"]) == (403, "permission_denied")
    status, busy = _called(server, "Live_Busy")
    assert (status, busy["result"]["error"]["error_class"], busy["result"]["error"]["retry_after"]) == (
        200,
        "rate_limited",
        1.5,
    )
    status, broken = _called(server, "Live_Break", why="because")
    assert (status, broken["result"]["error"]["error_class"]) == (200, "execution_failed")
    status, waiting = _called(server, "Live_AskFirst")
    assert (status, waiting["state"]) == (202, "awaiting_approval")
    status, counted = _called(server, "Live_Count", steps=2, seconds=0.01)
    assert (status, counted["result"]["structured_content"]) == (200, {"counted": 2})
    assert _called(server, "Live_Echo", value=[1, None])[1]["result"]["structured_content"] == {"value": [1, None]}
