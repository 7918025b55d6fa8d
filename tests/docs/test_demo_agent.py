"""The demo, served: its scripted agents go to work through MCP, people answer, and the agents pick the results up."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from scripts.demo_agent import WORKERS, Crew, key_of, main
from scripts.demo_client import Away, Client

from ferrule.access.keys import OWNER_FILE, Access
from ferrule.model.approval import APPROVE
from tests.docs.test_demo import DEMO, SAMPLES
from tests.servers.local_server import WAIT_SECONDS, ServerProcess, running_process

OPEN = build_opener(ProxyHandler({})).open
ANSWER = {"answer": "Anything by Verne, from an armchair.", "sure": "likely"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ignored = shutil.ignore_patterns(".ferrule", "ferrule.pub", "__pycache__")
    return Path(shutil.copytree(DEMO, tmp_path_factory.mktemp("served") / "demo", ignore=ignored))


@pytest.fixture(scope="module")
def shop(folder: Path) -> Iterator[ServerProcess]:
    with running_process(folder) as server:
        yield server


class Desk:
    """People who answer what waits: the owner, and somebody from accounts and from the warehouse."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self._url = server.url
        access = Access(folder)
        owner = access.local_owner()
        self.owner = server.token(folder, OWNER_FILE)
        _, self.maria = access.add(owner, "maria", (APPROVE,), ("accounts",))
        _, self.ines = access.add(owner, "ines", (APPROVE,), ("warehouse",))

    def ask(self, method: str, path: str, token: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with OPEN(Request(f"{self._url}/v1{path}", data, headers, method=method), timeout=WAIT_SECONDS) as answer:
            return json.load(answer)

    def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("GET", "/approvals", self.owner)["items"]
        return found

    def answer_all(self) -> None:
        """Say yes to everything, as those who may: a refund above 100 euros is for accounts, an erasure for two people."""
        for item in self.waiting():
            path, tool = f"/approvals/{item['invocation_id']}", item["tool_id"]
            if tool == "ask_librarian":
                self.ask("POST", f"{path}/answer", self.owner, {"value": ANSWER})
                continue
            who = {"delete_account": (self.owner, self.maria), "Delivery.BookCourier": (self.ines,)}.get(tool)
            for token in who or ((self.maria,) if "large-refunds" in json.dumps(item) else (self.owner,)):
                self.ask("POST", f"{path}/approve", token, {})


@pytest.fixture(scope="module")
def desk(shop: ServerProcess, folder: Path) -> Desk:
    return Desk(shop, folder)


def test_every_tool_is_called_through_the_server_and_ends(shop: ServerProcess, folder: Path, desk: Desk) -> None:
    anybody = Client(shop.url, shop.token(folder))
    support = Client(shop.url, key_of(folder, WORKERS[1]))
    assert "delete_account" not in anybody.tools()  # the policy denies it to them whatever they say: it does not exist
    tasks = {}
    for name, arguments in SAMPLES.items():
        client = support if name == "delete_account" else anybody
        answer = client.call(name, dict(arguments), run=f"each-{name}")
        assert not answer.is_error, f"{name}: {answer}"
        if answer.task is not None:
            tasks[name] = (client, answer.task)
    asked = {
        "delete_account",
        "ask_librarian",
        "Delivery.BookCourier",
        "back-office.create_discount",
        "northlight.reserve_copies",
    }
    assert {item["tool_id"] for item in desk.waiting()} == asked
    desk.answer_all()
    for name, (client, task) in tasks.items():
        end = time.monotonic() + WAIT_SECONDS
        while (answer := client.task(task)).task is not None:
            assert time.monotonic() < end, name
            time.sleep(0.05)
        assert not answer.is_error, f"{name}: {answer}"


def test_the_agents_do_each_act_and_pick_up_what_people_answered(
    shop: ServerProcess, folder: Path, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    crew = Crew({worker.name: Client(shop.url, key_of(folder, worker)) for worker in WORKERS}, seed=7)
    crew.work_once()
    assert not crew.mistakes and crew.away is None
    said = capsys.readouterr().out
    for words in (
        " found",
        "✗ there is no order",
        "do not fit its schema",
        "denies it: goodwill ends",
        "name the ticket",
        "waits for a person",
        "✗ the warehouse answered 503",
        "half price",
        " steps)",
        "a batch of",
    ):
        assert words in said, said
    end = time.monotonic() + WAIT_SECONDS
    while crew.waiting:
        assert time.monotonic() < end
        desk.answer_all()
        crew.look()
    told = capsys.readouterr().out
    for words in (
        "✓ the librarian says: Anything by Verne",
        "✓ paid back as RF-",
        "is forgotten",
        "books are cheaper",
        "canceled",
    ):
        assert words in told, told


def test_the_ledger_has_what_the_console_shows(shop: ServerProcess, folder: Path, desk: Desk) -> None:
    crew = Crew({worker.name: Client(shop.url, key_of(folder, worker)) for worker in WORKERS}, seed=7)
    crew.work_once()
    end = time.monotonic() + WAIT_SECONDS
    while crew.waiting:
        assert time.monotonic() < end
        desk.answer_all()
        crew.look()
    seen = desk.ask("GET", "/invocations?limit=100", desk.owner)["items"]
    assert {"succeeded", "failed", "denied", "canceled"} <= {one["status"] for one in seen}
    newest = {one["tool_id"]: one for one in reversed(seen) if one["status"] == "succeeded"}
    erased = desk.ask("GET", f"/invocations/{newest['delete_account']['invocation_id']}/explain", desk.owner)
    assert "keep_invoices" in json.dumps(erased) and "retention-guard" in json.dumps(erased)
    export = desk.ask(
        "GET", f"/invocations/{newest['back-office.export_catalog']['invocation_id']}/explain", desk.owner
    )
    assert "ferrule-payload:" in json.dumps(export)


def test_once_as_a_command(shop: ServerProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--once", "--workspace", str(folder), "--seed", "3"]) == 0  # it finds the port by itself
    assert f"for a person: {shop.url}/console/inbox" in capsys.readouterr().out


def test_a_few_seconds_of_work(shop: ServerProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rate", "20", "--minutes", "0.02", "--workspace", str(folder)]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 10


def test_a_key_is_made_once_and_anew_when_it_was_revoked(folder: Path) -> None:
    first = key_of(folder, WORKERS[0])
    assert key_of(folder, WORKERS[0]) == first
    access = Access(folder)
    access.revoke(access.local_owner(), access.present(first).token.id)
    assert key_of(folder, WORKERS[0]) != first


def test_without_a_server_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ferrule.toml").write_text("[serve]\nport = 1\n")
    assert main(["--once", "--workspace", str(tmp_path)]) == 1
    assert "Nothing serves the demo at http://127.0.0.1:1. Start it in another terminal" in capsys.readouterr().err


def test_a_key_of_another_workspace_is_told(shop: ServerProcess) -> None:
    with pytest.raises(Away, match="does not know this agent's key"):
        Client(shop.url, "frl_none_none").tools()
