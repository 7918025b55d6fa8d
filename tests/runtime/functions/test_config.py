"""An agent's config as its tools get it: read-only, filled in from the environment, without what belongs to built-in tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from ferrule.runtime.functions import Inject, tool
from ferrule.runtime.functions.function_tools import join_functions
from ferrule.testing import memory_app
from tests.runtime.functions.clerk import CONFIG, call_for_refusal, call_for_value, call_tool, make_manifest
from tests.spec.running_app import TRUSTED, run_async

pytestmark = pytest.mark.usefixtures("clean_services")


@run_async
async def test_a_section_of_the_config_is_read_only_and_filled_in() -> None:
    """ADL-36, ADL-37: placeholders come from the environment."""
    seen: list[Any] = []

    async def look(order: str, database_config: Mapping[str, Any]) -> str:
        seen.append(database_config)
        return str(database_config["url"])

    assert await call_for_value(look, "config.database") == "postgres://app:[REDACTED]@db/shop"
    assert seen[0]["url"] == "postgres://app:s3cret-of-the-db@db/shop"
    with pytest.raises(TypeError):
        seen[0]["url"] = "elsewhere"
    with pytest.raises(TypeError):
        seen[0]["pool"]["size"] = 5
    assert seen[0]["pool"]["hosts"] == ("a", "b")


@run_async
async def test_the_whole_config_comes_without_what_belongs_to_built_ins() -> None:
    """ADL-31"""

    async def look(order: str, config: Mapping[str, Any]) -> list[str]:
        return sorted(config)

    config = {key: group for key, group in CONFIG.items() if key != "payments"}
    assert await call_for_value(look, "config", config=config) == ["database", "notifications"]


@pytest.mark.parametrize("entry", ["config.payments", "config"])
@run_async
async def test_a_variable_that_is_not_set_is_named(entry: str) -> None:
    """ADL-37: before anything runs."""

    async def look(order: str, it: Any) -> str:
        raise AssertionError("it ran")

    look.__annotations__["it"] = Annotated[Any, Inject(entry)]
    message = await call_for_refusal(look, entry)
    assert "PAYMENT_KEY" in message and "config.payments" in message


def test_defaults_and_secrets_of_placeholders() -> None:
    """ADL-37: what a placeholder stood for is told to whoever keeps secrets."""
    secrets: dict[str, str] = {}

    async def look(order: str, payments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(payments)

    async def run() -> None:
        async with memory_app(definitions=make_manifest("config.payments")) as app:
            under = app.catalog
        view, executor = join_functions(
            under, [tool("clerk.look")(look)], environment={"PAYMENT_KEY": "pk-1234567"}, on_secret=secrets.__setitem__
        )
        async with memory_app(catalog=view, executors=(executor,), policy=TRUSTED) as app:
            assert (await call_tool(app)).structured_content == {"key": "pk-1234567", "region": "eu"}

    asyncio.run(run())
    assert secrets == {"PAYMENT_KEY": "pk-1234567"}
