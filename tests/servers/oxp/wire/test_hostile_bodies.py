"""Bodies that nobody sends in good faith: each gets a proper error, and nothing runs (OXP-23, OXP-26)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.model.serving import LimitSettings, ServeSettings
from tests.servers.oxp.oxp_server import OxpTestServer, running_oxp_server
from tests.servers.oxp.schemas import fits, of_status
from tests.servers.oxp.written import definition

CALL = "/oxp/tools/call"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxpTestServer]:
    few = ServeSettings(auth=False, limits=LimitSettings(body_bytes=100_000))
    with running_oxp_server(tmp_path_factory.mktemp("oxp"), few) as made:
        yield made


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=10), below, max_size=4),
    max_leaves=12,
)
MEMBERS = st.sampled_from(["$schema", "request", "tool_id", "input", "context", "call_id", "trace_id", "inputs"])
SHAPED = st.dictionaries(MEMBERS, JSON | st.dictionaries(MEMBERS, JSON, max_size=4), max_size=5)
BODIES = st.one_of(
    st.binary(max_size=200),
    JSON.map(lambda value: json.dumps(value).encode()),
    SHAPED.map(lambda value: json.dumps(value).encode()),
    SHAPED.map(lambda value: json.dumps({"request": value}).encode()),
)


@given(BODIES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_body_gets_a_proper_answer(served: OxpTestServer, body: bytes) -> None:
    reply = served.ask("POST", CALL, body, {"Content-Type": "application/json"})
    assert reply.status in (400, 422), reply
    assert fits(reply.json(), of_status(reply.status, CALL))
    assert b"Traceback" not in reply.body


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_input_is_judged_by_the_schema(served: OxpTestServer, given_input: dict[str, Any]) -> None:
    reply = served.call(tool_id="Calculator.Add", input=given_input)
    assert reply.status in (200, 422)
    assert (reply.status == 200) == (given_input.keys() == {"a", "b"})


@pytest.mark.parametrize(
    "body",
    [
        b'{"request": {"tool_id": "Any.Value", "input": ' + b"[" * 40_000 + b"]" * 40_000 + b"}}",
        b'{"request": {"tool_id": "Any.Value", "input": {"of": ' + b"9" * 50_000 + b"}}}",
        b'{"request": {"tool_id": "Any.Value", "input": {"of": "\\ud800"}}}',
        b'{"request": {"tool_id": "Any.Value", "input": {}}, "request": {"tool_id": "Doorbell.Ring"}}',
        b'{"request": {"tool_id": "Any.Value", "input": {}}} trailing',
        b'\xef\xbb\xbf{"request": {"tool_id": "Any.Value"}}',
        b'{"request": {"tool_id": "Any.Value", "input": {"of": NaN}}}',
        b'{"request": {"tool_id": "' + b"A" * 60_000 + b'.B"}}',
        b'{"request": {"tool_id": "Any.Value", "call_id": "' + b"c" * 60_000 + b'"}}',
    ],
    ids=["deep", "long-number", "half-character", "twice", "trailing", "mark", "nan", "long-id", "long-call-id"],
)
def test_odd_bodies(served: OxpTestServer, body: bytes) -> None:
    reply = served.ask("POST", CALL, body, {"Content-Type": "application/json"})
    assert reply.status in (400, 422)
    assert fits(reply.json(), of_status(reply.status, CALL))


def test_a_body_that_is_too_large_is_not_even_read(served: OxpTestServer) -> None:
    reply = served.ask("POST", CALL, b" " * 100_001, {"Content-Type": "application/json"})
    assert reply.status == 413


def test_a_tool_that_hides_is_not_told_by_time_or_words(served: OxpTestServer) -> None:
    """OXP-23"""
    for name in ("Hidden.Away", "Hidden.Away@1", "Hidden.Away@1.0.0", "No.Such@1.0.0"):
        reply = served.call(tool_id=name, input={"x": 1}, context={"user_id": "ada"})
        assert (reply.status, reply.json()["message"]) == (400, f"there is no tool {name}")


def test_a_large_value_is_given_whole(tmp_path: Path) -> None:
    """OXP-32: OXP has no references, so that what was stored is read back."""
    import ferrule  # noqa: PLC0415

    @ferrule.tool("Big.Thing")
    def big() -> Any:
        return {"words": ["word"] * 30_000}

    written = [definition("Big.Thing@1.0.0", output={"type": "object", "required": ["words"]})]
    allow = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
    with running_oxp_server(tmp_path, definitions=written, policy=allow, toml="", tools=[big]) as made:
        result = made.call(tool_id="Big.Thing").json()["result"]
        assert result["success"] is True
        assert len(result["value"]["words"]) == 30_000


def test_a_call_that_takes_long_goes_on_and_is_found_again(tmp_path: Path) -> None:
    """OXP-28: the same call_id gets the outcome."""
    import asyncio  # noqa: PLC0415

    import ferrule  # noqa: PLC0415

    gate = asyncio.Event()

    @ferrule.tool("Slow.Thing")
    async def slow() -> str:
        await gate.wait()
        return "done"

    written = [definition("Slow.Thing@1.0.0", output={"type": "string"})]
    allow = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
    quick = ServeSettings(auth=False, limits=LimitSettings(request_seconds=0.2))
    with running_oxp_server(tmp_path, quick, definitions=written, policy=allow, toml="", tools=[slow]) as made:
        first = made.call(tool_id="Slow.Thing", call_id="slow").json()["result"]
        assert (first["success"], first["error"]["pending"], first["error"]["can_retry"]) == (False, True, True)
        again = made.call(tool_id="Slow.Thing", call_id="slow").json()["result"]
        assert again["error"]["pending"] is True

        async def open_gate() -> None:
            gate.set()

        made.run(open_gate())
        for _ in range(100):
            result = made.call(tool_id="Slow.Thing", call_id="slow").json()["result"]
            if result["success"]:
                break
        assert result["value"] == "done"
