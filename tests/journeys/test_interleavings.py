"""Random stories over the whole runtime: calls, answers, edits, expiry, changed definitions and policies, switches, crashes.

FERRULE_SOAK=N plays N stories instead of a handful.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, settings
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from ferrule.app.custody.check import verify_ledger
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.ledger.stores.sqlite.store import SqliteStore
from tests.journeys.story import Story
from tests.journeys.world import World

_SOAK = int(os.environ.get("FERRULE_SOAK", "0"))


def _stories(short: int, steps: int) -> settings:
    return settings(
        max_examples=max(short, _SOAK),
        stateful_step_count=steps * 2 if _SOAK else steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class StoryInMemory(Story):
    """Processes that may crash at any moment, long calls under way or not."""

    @initialize()
    def begin(self) -> None:
        self.world = World(_next_memory_store)

    @rule()
    def crash(self) -> None:
        self.world.run(self.world.reopen(crashed=True))


def _next_memory_store(world: World) -> MemoryStore:
    return world.store.sibling() if world.store is not None else MemoryStore(clock=world.clock.now)


class StoryOnDisk(Story):
    """The embedded ledger. Crashes of real processes are in tests/faults."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ferrule-story-"))
        key = Ed25519PrivateKey.generate()
        self.public = key.public_key().public_bytes_raw()

        def next_store(world: World) -> Any:
            return SqliteStore(self.folder / "ledger.db", key, clock=world.clock.now, behind_seconds=0.01)

        self.world = World(next_store)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            verdict = verify_ledger(self.folder / "ledger.db", [self.public])
            shutil.rmtree(self.folder)
            assert not verdict.findings, verdict.findings


@pytest.mark.hypothesis
def test_promises_hold_in_every_story() -> None:
    run_state_machine_as_test(StoryInMemory, settings=_stories(120, 40))
    assert {"allow ran for 1", "ask ran for 1", "unknown needs_input"} <= StoryInMemory.reached.keys(), (
        "about too little"
    )


@pytest.mark.hypothesis
def test_promises_hold_on_disk() -> None:
    run_state_machine_as_test(StoryOnDisk, settings=_stories(10, 30))
