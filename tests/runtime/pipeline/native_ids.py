"""The native ids that are on record of a call."""

from __future__ import annotations

from typing import Any

from ferrule.app.app import App
from ferrule.model.story import Story


async def refs_of(app: App, invocation_id: str) -> list[dict[str, Any]]:
    await app.store.flush()
    story = Story(await app.store.rows_of(invocation_id))
    found: list[dict[str, Any]] = story.to_record()["native_refs"]
    return found
