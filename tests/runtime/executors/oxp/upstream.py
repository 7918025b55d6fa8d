"""An OXP server that says what a test wants, and an app that uses it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ferrule.app.app import App
from ferrule.infra.lockfile.oxp_tools import make_oxp_tool
from ferrule.model.credentials import SecretRef
from ferrule.model.result import Result
from ferrule.model.upstreams import OxpServer, OxpUpstreams
from ferrule.settings import NetworkSettings, SecretSettings, Settings
from ferrule.testing import memory_app
from tests.infra.clouds.far import Asked, Reply
from tests.servers.oxp.written import definition

ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
ECHO = definition(
    "Echo.Text@1.0.0", {"type": "object", "properties": {"text": {"type": "string", "description": "It."}}}, {}
)


class Server:
    """Lists `tools` and answers calls with `answers` in turn, the last one again and again."""

    def __init__(self, *answers: Any, tools: list[dict[str, Any]] | None = None) -> None:
        self.answers = list(answers)
        self.tools = [ECHO] if tools is None else tools
        self.calls: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.listed = 0
        self.health = 200

    def __call__(self, asked: Asked) -> Reply:
        if asked.path == "/oxp/health":
            return Reply(self.health)
        if asked.path == "/oxp/tools":
            self.listed += 1
            self.headers.append(asked.headers)
            return Reply(200, {"$schema": "urn:oxp:1.0", "tools": self.tools})
        body = json.loads(asked.body)
        assert (asked.method, asked.path, body["$schema"]) == ("POST", "/oxp/tools/call", "urn:oxp:1.0")
        self.calls.append(body["request"])
        self.headers.append(asked.headers)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        made = answer(body["request"]) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]
        return made if isinstance(made, Reply) else Reply(200, {"$schema": "urn:oxp:1.0", "result": made})

    @property
    def call_ids(self) -> list[str]:
        return [call["call_id"] for call in self.calls]


def done(value: Any = None, **more: Any) -> dict[str, Any]:
    """A call that succeeded."""
    return {"call_id": "x", "success": True, **({} if value is None else {"value": value}), **more}


def failed(**error: Any) -> dict[str, Any]:
    """A call that failed."""
    return {"call_id": "x", "success": False, "error": {"message": "it broke", **error}}


@asynccontextmanager
async def using(
    url: str,
    *definitions: dict[str, Any],
    server: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[App]:
    """An app with the tools of a server."""
    one = OxpServer(url=f"{url}/oxp", **(server or {}))
    bound = settings.pop("secrets", SecretSettings(env_file=""))
    oauth = settings.pop("oauth", {})
    made = Settings(
        network=NetworkSettings(allow=("127.0.0.1",)),
        oxp=OxpUpstreams(servers={"up": one}, **settings),
        secrets=bound,
        oauth=oauth,
    )
    tools = [make_oxp_tool("up", each) for each in definitions or (ECHO,)]
    async with memory_app(tools=tools, settings=made, policy=ALLOW, environment=environment or {}) as app:
        yield app


NAME = "Echo_Text"


async def result(app: Any, arguments: dict[str, Any] | None = None, **options: Any) -> Result:
    """What a call by Ada came to."""
    found = await app.surface(principal="ada").call(NAME, arguments or {"text": "hi"}, **options)
    assert isinstance(found, Result)
    return found


NEEDY = {
    **ECHO,
    "requirements": {
        "authorization": [{"id": "google", "oauth2": {"scopes": ["read"]}}],
        "secrets": [{"id": "POST_KEY"}],
        "user_id": True,
    },
}
BOUND = SecretSettings(env_file="", bindings={"POST_KEY": SecretRef("env", name="POST")})
