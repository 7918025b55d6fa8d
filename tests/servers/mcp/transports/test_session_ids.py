"""Sessions outlive the process that began them, for their own client only, until they are ended (MCP-75, MCP-77)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.approval import Identity
from ferrule.model.serving import McpSettings, ServeSettings
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.transports.session_ids import SessionIds
from ferrule.servers.mcp.transports.session_store import SessionStore
from tests.cli.test_serve import workspace
from tests.servers.local_server import WAIT_SECONDS, running_process

SECRET = b"s" * 32
ADA = Caller(Identity("ada", "token:1"))
CLIENT = frozenset({"sampling", "elicitation"})


def ids(root: Path, at: float = 0.0) -> SessionIds:
    return SessionIds(SECRET, root, lambda: at)


def store(root: Path, at: float = 0.0) -> SessionStore:
    settings = ServeSettings(mcp=McpSettings(session_seconds=60))
    return SessionStore(settings, lambda: "run_1", ids(root), lambda: at)


def test_another_process_knows_what_a_session_is(tmp_path: Path) -> None:
    facts = ids(tmp_path).open(ids(tmp_path).make(ADA, "2025-06-18", CLIENT, "run_7"), ADA)
    assert facts is not None
    assert (facts.revision, facts.client, facts.run_id) == ("2025-06-18", ("elicitation", "sampling"), "run_7")


@pytest.mark.parametrize(
    "caller",
    [
        Caller(Identity("bob", "token:1")),
        Caller(Identity("ada", "token:2")),
        Caller(Identity("ada", "token:1"), tenant="other"),
    ],
    ids=["principal", "credential", "tenant"],
)
def test_it_is_none_with_any_other_credential(caller: Caller, tmp_path: Path) -> None:
    assert ids(tmp_path).open(ids(tmp_path).make(ADA, "2025-11-25", CLIENT, "run_7"), caller) is None


def test_it_is_none_for_another_workspace_or_after_a_day(tmp_path: Path) -> None:
    made = ids(tmp_path).make(ADA, "2025-11-25", CLIENT, "run_7")
    assert SessionIds(b"t" * 32, tmp_path, lambda: 0.0).open(made, ADA) is None
    assert ids(tmp_path, at=24 * 3600 - 1).open(made, ADA) is not None
    assert ids(tmp_path, at=24 * 3600 + 1).open(made, ADA) is None


@given(st.text(max_size=80), st.integers(0, 200))
def test_nothing_made_up_and_nothing_changed_is_a_session(text: str, place: int) -> None:
    known = SessionIds(SECRET, Path("nowhere"), lambda: 0.0)
    assert known.open(text, ADA) is None
    made = known.make(ADA, "2025-11-25", CLIENT, "run_7")
    at = place % len(made)
    changed = made[:at] + ("A" if made[at] != "A" else "B") + made[at + 1 :]
    assert known.open(changed, ADA) is None
    assert all(0x21 <= ord(letter) <= 0x7E for letter in made)  # MCP-72


def test_a_session_that_was_ended_is_gone_for_every_process(tmp_path: Path) -> None:
    async def story() -> None:
        first, second = store(tmp_path), store(tmp_path)
        session = first.open(ADA, "2025-11-25", CLIENT)
        found = second.find(session.id, ADA)
        assert found is not None
        assert (found.run_id, found.client) == (session.run_id, CLIENT)
        first.delete(session)
        assert first.find(session.id, ADA) is None
        assert store(tmp_path).find(session.id, ADA) is None
        for one in (first, second):
            await one.aclose()

    asyncio.run(story())


def test_one_that_was_idle_too_long_is_not_taken_up_by_the_process_that_forgot_it(tmp_path: Path) -> None:
    async def story() -> None:
        now = [0.0]
        kept = SessionStore(
            ServeSettings(mcp=McpSettings(session_seconds=60)), lambda: "run_1", ids(tmp_path), lambda: now[0]
        )
        session = kept.open(ADA, "2025-11-25", CLIENT)
        now[0] = 61.0
        assert kept.find(session.id, ADA) is None
        assert kept.find(session.id, ADA) is None
        await kept.aclose()

    asyncio.run(story())


def test_a_client_goes_on_after_the_server_was_started_again(tmp_path: Path) -> None:
    workspace(tmp_path)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "greet", "arguments": {"name": "Ada"}}

    def ask(url: str, token: str, method: str, params: object, session: str = "") -> tuple[dict[str, object], str]:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **({"Mcp-Session-Id": session} if session else {}),
        }
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        with urlopen(Request(f"{url}/mcp", body, headers), timeout=WAIT_SECONDS) as answer:
            return json.loads(answer.read()), answer.headers.get("Mcp-Session-Id", "")

    with running_process(tmp_path) as server:
        token = server.token(tmp_path)
        _, session = ask(server.url, token, "initialize", hello)
    with running_process(tmp_path) as server:
        answer, _ = ask(server.url, token, "tools/call", call, session)
        assert "Hello, Ada!" in json.dumps(answer)
        gone = Request(
            f"{server.url}/mcp",
            headers={"Authorization": f"Bearer {token}", "Mcp-Session-Id": session},
            method="DELETE",
        )
        with urlopen(gone, timeout=WAIT_SECONDS) as ended:
            assert ended.status == 200
        with pytest.raises(HTTPError, match="404"):
            ask(server.url, token, "tools/call", call, session)
