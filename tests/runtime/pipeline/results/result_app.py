"""An app whose results have somewhere to go: a payload store, limits and perhaps a redactor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from ferrule.contracts.payloads import PayloadStore, StoredPayload
from ferrule.contracts.redactor import Redactor
from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.model.persistence import STRATEGIES, RedactionSettings, ResultSettings
from ferrule.model.result import Result
from ferrule.model.tool import Tool
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.testing import FakeClock
from tests.spec.running_app import RunningApp, make_tool, running_app

TEXT = "".join(chr(0x61 + number % 26) for number in range(481_204))


def secrets(**known: str) -> Redactor:
    """A redactor that knows these and nothing else."""
    redactor = KnownSecrets(RedactionSettings(well_known=False), {})
    for name, value in known.items():
        redactor.add(name, value)
    return redactor


class ResultScene(RunningApp):
    """A scene with a payload store."""

    payloads: Any
    clock: FakeClock

    async def stored(self, result: Result) -> tuple[StoredPayload, bytes]:
        """What the result's whole output is kept as."""
        assert result.native_output_ref is not None
        kept = await self.payloads.describe(result.native_output_ref)
        return kept, await self.payloads.read(kept.uri)

    async def persistence(self, result: Result) -> list[dict[str, Any]]:
        """The records of how the result was kept, from the ledger."""
        found: list[dict[str, Any]] = (await self.read_story(result)).notes.get("persistence", [])
        return found


@asynccontextmanager
async def result_scene(
    gives: Any,
    tool: Tool | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    payloads: PayloadStore | str | None = "memory",
    redactor: Redactor | None = None,
    **parts: Any,
) -> AsyncIterator[ResultScene]:
    """An app with one tool that gives something. `settings`: of `[results]`."""
    clock = FakeClock()
    async with running_app(tool or make_tool(), default=gives, clock=clock, **parts) as on:
        used: Any = MemoryPayloads(clock.now) if payloads == "memory" else payloads
        found = ResultScene(on.app, on.executor, on.surface)
        found.payloads, found.clock = used, clock
        on.app.services = replace(
            on.app.services, payloads=used, results=ResultSettings(**(settings or {})), redactor=redactor
        )
        yield found


def policy(strategy: str, **said: Any) -> Any:
    """A tool whose contract names a strategy, and a limit of 100 characters."""
    return make_tool(output_contract={"persistence_policy": {"strategy": strategy, **said}, "max_inline_chars": 100})


async def read_linked(on: ResultScene, result: Result) -> dict[str, Any]:
    """The one persistence record; it and the result name each other (AT-223)."""
    (record,) = await on.persistence(result)
    assert result.persistence_refs == (record["decision_id"],)
    assert (record["invocation_id"], record["result_id"]) == (result.invocation_id, result.result_id)
    assert record["strategy"] in STRATEGIES
    stored = await on.app.result(result.invocation_id)
    assert stored == result
    return record
