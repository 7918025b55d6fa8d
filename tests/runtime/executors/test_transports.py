"""Finding the executor of a tool's transport: each is made when its first tool comes, and closed with the others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec
import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT
from ferrule.model.tool import Tool
from ferrule.model.upstreams import McpProgram
from ferrule.runtime.executors import transports
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.runtime.executors.transports import TransportExecutor, transport_of


def tool(dialect: str = "aml", payload: bytes | None = None, **written: Any) -> Tool:
    return Tool(
        tool_id="shop.ring", name="ring", namespace="shop", description="", lifecycle="available", tool_kind="function",
        dialect=dialect, payload=msgspec.Raw(json.dumps(written).encode() if payload is None else payload),
    )  # fmt: skip


REST, QUEUE = tool(transport={"type": "rest-api"}), tool(transport={"type": "message-queue"})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (REST, "rest-api"),
        (tool(type="human", transport={"type": "rest-api"}), "human"),
        (tool("mcp", transport={"type": "rest-api"}), "mcp"),
        (tool(SERVER_DIALECT), "oxp"),
        (tool("python", transport={"type": "rest-api"}), None),
        (tool(transport={"type": "pigeon"}), None),
        (tool(transport={"type": ["rest-api"]}), None),
        (tool(transport={}), None),
        (tool(), None),
        (tool(payload=b"{"), None),
        (tool(transport="rest-api"), None),
    ],
)
def test_a_definition_says_how_its_tool_is_reached(given: Tool, kind: str | None) -> None:
    assert transport_of(given) == kind
    assert TransportExecutor(nothing_around).can_run(given) is (kind is not None)


def nothing_around() -> TransportServices:
    raise AssertionError("nothing is needed yet")


class Played:
    """An executor that says which it is."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.is_closed = False

    def prepare(self, tool: Tool) -> str:
        return f"{self.kind} runs {tool.tool_id}"

    async def aclose(self) -> None:
        self.is_closed = True


class Answering(Played):
    """One to which answers come from outside."""

    def receiver(self, tool: Tool) -> str:
        return f"receives for {tool.tool_id}"

    def reply_value(self, tool: Tool, value: Any) -> Any:
        return value["body"]


class Names:
    """Executors by the names of transports, in the place of the registry."""

    def __init__(self) -> None:
        self.made: list[Played] = []

    def get(self, kind: str) -> Callable[[TransportServices], Played]:
        def make(around: TransportServices) -> Played:
            self.made.append((Answering if kind == "message-queue" else Played)(kind))
            return self.made[-1]

        return make


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    played = Names()
    monkeypatch.setattr(transports, "_registry", played)
    yield played


def executor(*programs: McpProgram) -> Any:
    return TransportExecutor(lambda: cast(TransportServices, None), programs)


def test_each_executor_is_made_once_and_all_are_closed(names: Names) -> None:
    door = executor()
    assert names.made == []
    assert [door.prepare(each) for each in (REST, REST, QUEUE)] == [
        "rest-api runs shop.ring",
        "rest-api runs shop.ring",
        "message-queue runs shop.ring",
    ]
    assert [each.kind for each in names.made] == ["rest-api", "message-queue"]
    asyncio.run(door.aclose())
    assert all(each.is_closed for each in names.made)


def test_a_program_does_the_work_whatever_the_definition_names(names: Names) -> None:
    door = executor(McpProgram(command=("ring",), tools=("shop.*",)))
    assert door.prepare(REST) == "mcp runs shop.ring"
    assert door.can_run(tool()) and door.has_program(tool())


def test_answers_come_only_where_the_executor_takes_some(names: Names) -> None:
    door = executor()
    assert door.receiver(QUEUE) == "receives for shop.ring"
    assert door.reply_value(QUEUE, {"body": 5}) == 5
    assert door.receiver(REST) is None
    assert door.reply_value(REST, {"body": 5}) == {"body": 5}


def test_a_tool_without_a_transport_is_a_matter_of_set_up() -> None:
    with pytest.raises(ExecutionFailed, match=r"'shop\.ring' names no transport") as failed:
        TransportExecutor(nothing_around).prepare(tool())
    assert failed.value.error_class == "setup_required"
