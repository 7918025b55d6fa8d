"""The tools that the tests of the OXP server serve, and a server that stays up for many tests."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ferrule
from ferrule.model.serving import ServeSettings
from tests.servers.local_server import InProcessServer, Reply, running_server
from tests.servers.oxp.written import ADDENDS, definition

WAIT_SECONDS = 30.0
LOGGED = "ferrule.oxp"


REQUIREMENTS = {
    "authorization": [{"id": "google", "oauth2": {"scopes": ["mail.read"]}}],
    "secrets": [{"id": "POST_KEY"}],
    "user_id": True,
}
DEFINITIONS = [
    *(definition(f"Calculator.Add@{version}", ADDENDS, {"type": "number"}) for version in ("1.0.0", "1.2.0", "2.0.0")),
    *(definition(f"Which.Version@{version}", output={"type": "string"}) for version in ("1.0.0", "1.10.0", "1.9.0")),
    definition("Doorbell.Ring@0.1.0"),
    definition("Any.Value@1.0.0", {"type": "object", "properties": {"of": {"description": "Which."}}}, {}),
    definition("Bad.Typed@1.0.0", output={"type": "integer"}),
    definition(
        "Fails.Always@1.0.0", {"type": "object", "properties": {"how": {"type": "string", "description": "How."}}}, {}
    ),
    definition("Mail.Read@1.0.0", output={}, requirements=REQUIREMENTS),
    definition("Users.Whoami@1.0.0", output={"type": "string"}, requirements={"user_id": True}),
    definition("Bound.Secret@1.0.0", output={"type": "integer"}, requirements={"secrets": [{"id": "BOUND_KEY"}]}),
    definition(
        "Money.Send@1.0.0", {"type": "object", "properties": {"to": {"type": "string", "description": "Whom."}}}, {}
    ),
    definition(
        "Money.Burn@1.0.0", {"type": "object", "properties": {"how": {"type": "string", "description": "How."}}}, {}
    ),
    definition("Hidden.Away@1.0.0", output={}),
]
POLICY = """
[[rules]]
id = "most"
decision = "allow"
tool = ["Calculator_Add", "Which_Version", "Doorbell_Ring", "Any_Value", "Bad_Typed", "Fails_Always", "Mail_Read", "Users_Whoami",
        "Bound_Secret", "later", "Money_Burn"]

[[rules]]
id = "asked"
decision = "ask"
tool = "Money_Send"
reason = "money leaves the house"

[[rules]]
id = "never-all"
decision = "deny"
tool = "Money_Burn"
when = { how = { equals = "all" } }
reason = "not all of it"

[[rules]]
id = "never"
decision = "deny"
tool = "Hidden_Away"
"""
BINDINGS = '[secrets.bindings.BOUND_KEY]\nsource = "env"\nname = "OXP_TEST_BOUND_KEY"\n'


class RecordedRuns:
    """What ran."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.credentials: list[dict[str, str]] = []

    def tools(self) -> list[Any]:
        """The functions behind the definitions."""
        calls, credentials = self.calls, self.credentials

        @ferrule.tool("Calculator.Add")
        def add(a: float, b: float) -> float:
            calls.append(("add", a, b))
            return a + b

        def teller(version: str) -> Any:
            @ferrule.tool(f"Which.Version@{version}")
            def tell() -> str:
                return version

            return tell

        @ferrule.tool("Doorbell.Ring")
        def ring() -> None:
            calls.append("ring")

        @ferrule.tool("Any.Value")
        def any_value(of: str = "") -> Any:
            return {"none": None, "list": [1, None], "long": 2**70, "text": "words"}.get(of, {"of": of})

        @ferrule.tool("Bad.Typed")
        def bad_typed() -> Any:
            calls.append("bad_typed")
            return "seven"

        @ferrule.tool("Fails.Always")
        def fails(how: str = "") -> Any:
            calls.append(("fails", how))
            raise ValueError("internal words with /a/path and a-secret")

        @ferrule.tool(namespace="own", read_only=True, version="0.3.0")
        def later() -> str:
            """Asks to be called later."""
            raise ferrule.ToolFailed("too many of them", error_class="rate_limited", retry_after=1.5)

        @ferrule.tool("Mail.Read")
        def mail(context: ferrule.Context) -> Any:
            credentials.append(dict(context.credentials))
            return {"for": context.principal, "echo": context.credentials["google"]}

        @ferrule.tool("Users.Whoami")
        def whoami(context: ferrule.Context) -> str:
            return context.principal

        @ferrule.tool("Bound.Secret")
        def bound(context: ferrule.Context) -> int:
            credentials.append(dict(context.credentials))
            return len(context.credentials["BOUND_KEY"])

        @ferrule.tool("Money.Send")
        def send(to: str = "") -> Any:
            calls.append(("send", to))
            return {"sent": to}

        @ferrule.tool("Money.Burn")
        def burn(how: str = "") -> Any:
            calls.append(("burn", how))
            return {}

        @ferrule.tool("Hidden.Away")
        def hidden() -> Any:
            calls.append("hidden")
            return {}

        tellers = map(teller, ("1.0.0", "1.10.0", "1.9.0"))
        return [add, *tellers, ring, any_value, bad_typed, fails, later, mail, whoami, bound, send,
                burn, hidden]  # fmt: skip


class OxpTestServer:
    """A server that stays up, in a thread of its own, and what ran behind it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stand: InProcessServer, ran: RecordedRuns) -> None:
        self._loop = loop
        self.stand = stand
        self.ran = ran

    def run(self, work: Any) -> Any:
        """Run something where the server is."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_SECONDS)

    def ask(self, method: str, path: str, body: Any = b"", headers: Any = ()) -> Reply:
        """One request."""
        reply: Reply = self.run(self.stand.ask(method, path, body, headers))
        return reply

    def call(self, headers: Any = (), **request: Any) -> Reply:
        """One call of a tool."""
        return self.ask("POST", "/oxp/tools/call", {"request": request}, headers)


@contextmanager
def running_oxp_server(
    folder: Path,
    settings: ServeSettings | None = None,
    *,
    definitions: Any = DEFINITIONS,
    toml: str = BINDINGS,
    policy: str = POLICY,
    tools: list[Any] | None = None,
) -> Iterator[OxpTestServer]:
    """A served workspace."""
    ran = RecordedRuns()
    (folder / "tools.json").write_text(json.dumps({"tools": definitions}))
    (folder / "policy.toml").write_text(policy)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    context = running_server(folder, tools=ran.tools() if tools is None else tools, toml=toml, settings=settings)
    try:
        stand = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(WAIT_SECONDS)
        try:
            yield OxpTestServer(loop, stand, ran)
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(WAIT_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT_SECONDS)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
