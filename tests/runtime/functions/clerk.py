"""An agent `clerk` with one tool, which a function runs, and the services and the config that its manifest names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import yaml

from ferrule.app.app import App
from ferrule.model.result import Result
from ferrule.runtime.functions import tool
from ferrule.testing import memory_app
from tests.runtime.functions import shop_services
from tests.spec.running_app import TRUSTED

SERVICES = {
    "customerRepo": "NewCustomerRepo",
    "mailer": "NewMailer",
    "queue": "NewQueue",
    "session": "NewSession",
    "lock": "NewLock",
    "yielded": "NewYielded",
    "asyncYielded": "NewAsyncYielded",
    "broken": "NewBroken",
    "nothing": "NewNothing",
    "egg": "NewEgg",
    "hen": "NewHen",
    "needy": "NewNeedy",
    "absent": "NewAbsent",
    "notifications": "notify",
}
CONFIG = {
    "database": {"url": "postgres://app:${DB_PASSWORD}@db/shop", "pool": {"size": 4, "hosts": ["a", "b"]}},
    "notifications": {"sender": "shop@example.com"},
    "payments": {"key": "${PAYMENT_KEY}", "region": "${REGION:-eu}"},
    "tools": {"read": {"enabled": True}},
}


def make_manifest(*inject: str, config: Any = CONFIG, schema: Mapping[str, Any] | None = None) -> dict[str, str]:
    """An agent `clerk` with one tool, `look`, that is given these."""
    fields = {"type": "object", "properties": {"order": {"type": "string", "description": "Which."}}}
    value = {
        "apiVersion": "adl.inference-gateway.com/v1",
        "kind": "Agent",
        "metadata": {"name": "clerk", "description": "Finds orders.", "version": "1.0.0"},
        "spec": {
            "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False},
            "config": config,
            "services": {
                name: {"type": "service", "interface": "Thing", "factory": factory, "description": "A thing."}
                for name, factory in SERVICES.items()
            },
            "tools": [
                {
                    "id": "look", "name": "look", "description": "Look an order up.", "tags": ["orders"],
                    "inject": list(inject), "schema": dict(schema) if schema else {**fields, "required": ["order"]},
                }
            ],
            "server": {"port": 8080},
            "language": {"go": {"module": "example.com/clerk", "version": "1.24"}},
        },
    }  # fmt: skip
    return {"clerk.adl.yaml": yaml.safe_dump(value)}


@asynccontextmanager
async def open_clerk(function: Any, *inject: str, more: tuple[Any, ...] = (), **said: Any) -> AsyncIterator[App]:
    """An app whose one ADL tool is run by a function."""
    given = (tool("clerk.look")(function), shop_services, *more)
    async with memory_app(tools=given, definitions=make_manifest(*inject, **said), policy=TRUSTED) as app:
        yield app


async def call_tool(app: App, arguments: Any = None, name: str = "look") -> Result:
    """What a call of the tool came to."""
    outcome = await app.surface(principal="ada").call(name, {"order": "A-1"} if arguments is None else arguments)
    assert isinstance(outcome, Result), outcome
    return outcome


async def call_for_value(function: Any, *inject: str, **said: Any) -> Any:
    """What the tool gives when a function runs it."""
    async with open_clerk(function, *inject, **said) as app:
        result = await call_tool(app)
        assert result.error is None, result.error
        return result.structured_content if result.structured_content is not None else result.content[0]["text"]


async def call_for_refusal(function: Any, *inject: str, **said: Any) -> str:
    """What a caller is told when something has to be set up first."""
    async with open_clerk(function, *inject, **said) as app:
        result = await call_tool(app)
        assert result.error is not None and result.error.error_class == "setup_required", result
        return result.error.message
