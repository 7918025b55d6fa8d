"""A small MCP client (revision 2026-07-28) on the standard library, as the scripted agents of the demo use it.

It knows calls, progress and tasks: a call that waits for a person is a task, which is asked about until it has ended. Batches are
not in MCP, and go to the HTTP API.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

REVISION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
_CAPABILITIES: dict[str, Any] = {"extensions": {TASKS: {}}}
_PATIENCE_SECONDS = 60.0
_OPENER = build_opener(ProxyHandler({}))  # the server is on this machine

Progress = Callable[[float, str], None]


class Away(Exception):
    """The server is gone, or does not know the key."""


class Answer(NamedTuple):
    """What came of a call."""

    is_error: bool
    text: str
    value: Any = None
    task: str | None = None
    """Set while it has not ended: what to ask about."""


class Client:
    """One agent's connection to the server: an address and a key."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key
        self._numbers = count(1)

    def tools(self) -> list[str]:
        """The names of the tools this agent sees. Raises Away."""
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def call(self, tool: str, arguments: dict[str, Any], *, run: str, progress: Progress | None = None) -> Answer:
        """Call a tool. Raises Away."""
        meta: dict[str, Any] = {"dev.ferrule/run": run}
        if progress is not None:
            meta["progressToken"] = run
        return _answer(self._ask("tools/call", {"name": tool, "arguments": arguments}, meta, progress))

    def task(self, task: str) -> Answer:
        """How far a call is that had not ended. Raises Away."""
        return _answer(self._ask("tasks/get", {"taskId": task}))

    def cancel(self, task: str) -> None:
        """Ask a call to stop. Raises Away."""
        self._ask("tasks/cancel", {"taskId": task})

    def batch(self, calls: list[tuple[str, dict[str, Any]]], *, run: str) -> list[dict[str, Any]]:
        """Make many calls together, over the HTTP API; how each of them stands. Raises Away."""
        body = {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in calls]}
        with self._open("/v1/batches", body, {"Ferrule-Run": run}) as answer:
            found: list[dict[str, Any]] = json.load(answer)["calls"]
            return found

    def _ask(
        self, method: str, params: dict[str, Any], meta: dict[str, Any] | None = None, progress: Progress | None = None
    ) -> Any:
        said = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": _CAPABILITIES,
            **(meta or {}),
        }
        name = params.get("name") or params.get("taskId")
        headers = {"MCP-Protocol-Version": REVISION, "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
        message = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": {**params, "_meta": said}}
        with self._open("/mcp", message, headers) as answer:
            for told in _messages(answer):
                if told.get("method") == "notifications/progress" and progress is not None:
                    progress(float(told["params"].get("progress", 0)), str(told["params"].get("message", "")))
                elif "result" in told:
                    return told["result"]
                elif "error" in told:
                    return {"isError": True, "content": [{"type": "text", "text": told["error"]["message"]}]}
        raise Away("the server ended its answer too early")

    def _open(self, path: str, body: Any, headers: dict[str, str]) -> Any:
        every = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream" if path == "/mcp" else "application/json",
            **headers,
        }
        try:
            return _OPENER.open(Request(self._url + path, json.dumps(body).encode(), every), timeout=_PATIENCE_SECONDS)
        except HTTPError as refused:
            if refused.code in (401, 403):
                refused.close()
                raise Away(f"{self._url} does not know this agent's key") from None
            return refused  # a problem that belongs to the call, told in the body
        except (URLError, OSError) as error:
            raise Away(f"{self._url} does not answer: {error}") from None


def _messages(answer: Any) -> Iterator[dict[str, Any]]:
    """The messages of an answer: one, or those of a stream."""
    if "text/event-stream" not in answer.headers.get("Content-Type", ""):
        yield json.load(answer)
        return
    data: list[str] = []
    for line in _lines(answer):
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").strip())
        elif not line and data:
            yield json.loads("\n".join(data))
            data = []


def _lines(answer: Iterable[bytes]) -> Iterator[str]:
    for line in answer:
        yield line.decode().rstrip("\r\n")


def _answer(result: dict[str, Any]) -> Answer:
    """What a result, or a task, says."""
    if "taskId" in result:
        if result.get("status") in ("working", "input_required"):
            return Answer(False, str(result.get("statusMessage", "")), task=result["taskId"])
        if "result" not in result:
            return Answer(True, str(result.get("statusMessage") or result.get("status", "it has ended")))
        result = result["result"]
    texts = [block["text"] for block in result.get("content", ()) if block.get("type") == "text"]
    return Answer(bool(result.get("isError")), "\n".join(texts), result.get("structuredContent"))
