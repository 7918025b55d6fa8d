"""What one process has for its tools: made when it is first asked for, let go once, and which tools are ready."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.resources import ProcessReadiness, ProcessResources
from tests.driven import driven
from tests.runtime.surface.surfaces import make_tool


@driven
async def test_what_nobody_asks_for_is_never_made_and_letting_go_of_it_is_nothing() -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("nobody asked")

    outside = ProcessResources(refuse, refuse)
    await outside.aclose()


@pytest.mark.parametrize(("dialect", "missing"), [("aml", ()), ("oxp", ("CRM_KEY",))])
def test_a_bound_function_brings_its_own_credentials_where_its_dialect_says_so(
    dialect: str, missing: tuple[str, ...]
) -> None:
    here = ProcessReadiness(lambda tool: True, missing=lambda tool: ("CRM_KEY",))
    assert here.missing_credentials(make_tool(dialect=dialect), ["CRM_KEY"]) == missing


def test_a_tool_that_nothing_does_is_not_set_up_and_lacks_what_is_missing() -> None:
    here = ProcessReadiness(lambda tool: False, missing=lambda tool: ("CRM_KEY",))
    assert not here.is_set_up(make_tool()) and not here.is_switched_on(make_tool())
    assert here.missing_credentials(make_tool(dialect="aml"), []) == ("CRM_KEY",)
