"""A tool that was found and can be called has all its parts; asking one that was not for them is a mistake of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ferrule.runtime.pipeline.call_parts import ReadTooEarly
from ferrule.runtime.pipeline.prepared import UNRESOLVED
from tests.spec.running_app import make_tool, run_async, running_app

EARLY: dict[str, tuple[Callable[[], object], str]] = {
    "tool": (UNRESOLVED.require_entry, "resolve_tool"),
    "schema of the arguments": (UNRESOLVED.require_arguments, "resolve_tool"),
    "policy program": (UNRESOLVED.require_program, "resolve_tool"),
    "claim": (UNRESOLVED.require_claim, "schedule"),
}


@pytest.mark.parametrize("part", EARLY)
def test_what_is_read_before_the_tool_was_found_says_so(part: str) -> None:
    read, phase = EARLY[part]
    with pytest.raises(ReadTooEarly, match=f"^the {part} of the call was read before `{phase}` filled it$"):
        read()


@run_async
async def test_a_prepared_tool_has_its_parts() -> None:
    async with running_app(make_tool(is_read_only=True)) as on:
        prepared = on.surface.session.find("search")
        assert prepared.require_entry() is prepared.entry
        assert prepared.require_arguments() is prepared.arguments
        assert prepared.require_program() is prepared.program
        assert prepared.require_claim() is prepared.claim
