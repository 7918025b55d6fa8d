"""A scene whose app knows a secret, and what is looked through for it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from ferrule.model.persistence import RedactionSettings
from ferrule.model.result import Pending, Result
from ferrule.runtime.redaction.redactor import KnownSecrets
from tests.spec.running_app import RunningApp, running_app

SECRET = 'c4nary/"7"-of-the-shop'
GITHUB = "ghp_" + "Zq8WvTn3Xk5RjHm2Pb7LcYd4FgSs9Aa1"
ENVIRONMENT = {"SHOP_TOKEN": SECRET}
SETTINGS = RedactionSettings(secrets_env=("SHOP_TOKEN",))
KNOWN = KnownSecrets(SETTINGS, ENVIRONMENT)
ANY: dict[str, Any] = {"type": "object"}


@asynccontextmanager
async def scene_with_secrets(*tools: Any, **said: Any) -> AsyncIterator[RunningApp]:
    """A scene whose app knows the secret."""
    async with running_app(*tools, redaction=SETTINGS, environment=ENVIRONMENT, **said) as on:
        yield on


async def read_stored(on: RunningApp) -> bytes:
    """Every byte of every row."""
    await on.app.store.flush()
    rows = await on.app.store.rows_after(0, 10_000)
    return b"\n".join(row.body + (row.payload or b"") + row.mark + row.tool.encode() for row in rows)


def list_spellings_of(secret: str) -> list[bytes]:
    plain = secret.encode()
    return [plain, json.dumps(secret)[1:-1].encode(), base64.b64encode(plain)[:-4], plain.hex().encode()]


async def is_clean(on: RunningApp, *secrets: str) -> bool:
    everything = await read_stored(on)
    return not any(form in everything for secret in secrets or (SECRET, GITHUB) for form in list_spellings_of(secret))


def is_told(outcome: Any) -> bool:
    """True when a secret stands in something that was given to somebody."""
    return KNOWN.may_hold(msgspec.msgpack.encode(msgspec.to_builtins(outcome)))


async def check_outcome(on: RunningApp, outcome: Result | Pending) -> Result | Pending:
    assert not is_told(outcome), outcome
    assert await is_clean(on)
    return outcome
