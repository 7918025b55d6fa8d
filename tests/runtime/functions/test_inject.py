"""Services, config and loggers for functions that run ADL tools: ADL-29 to ADL-37 at run time."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from ferrule.errors import BindingError
from ferrule.runtime.functions import Inject, service, tool
from ferrule.runtime.functions.function_tools import join_functions
from ferrule.runtime.functions.inject import map_parameters, to_python_name
from ferrule.runtime.surface.catalogs import EmptyCatalog
from ferrule.testing import memory_app
from tests.runtime.functions.clerk import call_for_value, call_tool, open_clerk
from tests.spec.running_app import TRUSTED, run_async

pytestmark = pytest.mark.usefixtures("clean_services")


@run_async
async def test_the_logger_is_the_tools_own() -> None:
    """ADL-30: always available, by name or by its type."""

    async def by_name(order: str, logger: Any) -> str:
        return str(logger.name)

    async def by_type(order: str, log: logging.Logger) -> str:
        return log.name

    assert await call_for_value(by_name, "logger") == "ferrule.tools.clerk.look"
    assert await call_for_value(by_type) == "ferrule.tools.clerk.look"


@run_async
async def test_a_service_and_a_section_of_one_name_stay_apart() -> None:
    """ADL-33: `notifications` and `config.notifications`."""

    async def both(order: str, notifications: Any, notifications_config: Mapping[str, Any]) -> list[Any]:
        return [notifications, dict(notifications_config)]

    async def alone(order: str, notifications: Mapping[str, Any]) -> Any:
        return dict(notifications)

    section = {"sender": "shop@example.com"}
    assert await call_for_value(both, "notifications", "config.notifications") == ["notifications", section]
    assert await call_for_value(alone, "config.notifications") == section


OPEN = {"type": "object", "properties": {"order": {"type": "string", "description": "Which."}}, "required": ["order"]}


@pytest.mark.parametrize("is_closed", [True, False])
@run_async
async def test_no_model_sends_what_is_injected(is_closed: bool) -> None:
    """AT-59: the name is no field, whatever the schema and the function would take."""

    async def narrow(order: str, logger: Any) -> str:
        return str(logger.name)

    async def wide(order: str, logger: Any, **more: Any) -> str:
        return str(logger.name)

    schema = {**OPEN, "additionalProperties": False} if is_closed else OPEN
    for function in (narrow, wide):
        async with open_clerk(function, "logger", schema=schema) as app:
            assert "logger" not in str(app.surface(principal="ada").tools())
            refused = await call_tool(app, {"order": "A-1", "logger": "mine"})
            assert refused.error is not None
            assert refused.error.error_class in ("schema_validation_failed", "invalid_arguments")
            assert (await call_tool(app)).content[0]["text"] == "ferrule.tools.clerk.look"


@run_async
async def test_a_field_wins_over_a_service_of_its_name() -> None:
    schema = {
        "type": "object",
        "properties": {"mailer": {"type": "string", "description": "Whose."}},
        "required": ["mailer"],
    }

    async def look(mailer: str, mailer_service: Any) -> list[Any]:
        return [mailer, mailer_service.limit]

    async with open_clerk(look, "mailer", schema=schema) as app:
        assert (await call_tool(app, {"mailer": "DHL"})).structured_content == ["DHL", 3]


@run_async
async def test_what_the_definition_does_not_inject_is_refused() -> None:
    """ADL-30: the manifest says what a tool gets."""

    async def look(order: str, mailer: Annotated[Any, Inject("mailer")]) -> str:
        return "no"

    with pytest.raises(BindingError, match=r"'mailer', which is not in the tool's `inject`"):
        async with open_clerk(look, "logger"):
            pass

    async def unfed(order: str, mailer: Any) -> str:
        return "no"

    with pytest.raises(BindingError, match="'mailer' is no field"):
        async with open_clerk(unfed, "logger"):
            pass


@run_async
async def test_python_tools_ask_by_annotation() -> None:
    """Without any definition: the logger by its type, marked services by `Inject`."""

    @service("greeting")
    def make_greeting(logger: logging.Logger) -> str:
        return f"hello from {logger.name}"

    @service
    def greeter(greeting: str) -> list[str]:
        return [greeting]

    @tool(read_only=True, name="greet")
    async def greet(name: str, log: logging.Logger, by: Annotated[list[str], Inject("greeter")]) -> list[str]:
        """Greet somebody."""
        return [name, log.name, *by]

    @tool(read_only=True, name="lost")
    async def lost(it: Annotated[str, Inject("nowhere")]) -> str:
        """Cannot run."""
        return it

    async with memory_app(tools=(greet, lost, make_greeting, greeter), policy=TRUSTED) as app:
        result = await call_tool(app, {"name": "Ann"}, "greet")
        tool_id = result.structured_content[1].removeprefix("ferrule.tools.") if result.structured_content else ""
        assert result.structured_content == ["Ann", f"ferrule.tools.{tool_id}", "hello from ferrule.services.greeting"]
        assert tool_id.endswith(".greet")
        unset = await call_tool(app, {}, "lost")
        assert unset.error is not None and unset.error.error_class == "setup_required"
        assert '@ferrule.service("nowhere")' in unset.error.message
        sent = await call_tool(app, {"name": "Ann", "by": ["me"]}, "greet")
        assert sent.error is not None and sent.error.error_class == "schema_validation_failed"


def test_mistakes_show_when_the_app_is_opened() -> None:
    @service("twice")
    def one() -> str:
        return "one"

    @service("twice")
    def two() -> str:
        return "two"

    with pytest.raises(BindingError, match="both make the service 'twice'"):
        join_functions(EmptyCatalog(), [one, two])
    with pytest.raises(BindingError, match="cannot name a service"):
        service("order-repo")(one)

    @tool(read_only=True)
    async def wants(it: Annotated[str, Inject("a..b")]) -> str:
        """Wrong."""
        return it

    with pytest.raises(BindingError, match=r"'a\.\.b' cannot be injected"):
        join_functions(EmptyCatalog(), [wants])

    @tool(read_only=True)
    async def checked(order: str, log: logging.Logger) -> str:
        """Wrong."""
        return order

    @checked.check
    def check(order: str, log: logging.Logger) -> str | None:
        return None

    with pytest.raises(BindingError, match="something injected"):
        join_functions(EmptyCatalog(), [checked])


def test_parameters_by_their_entries() -> None:
    """ADL-33: each has its own."""
    names = map_parameters(
        ["logger", "config", "customerRepo", "config.customerRepo", "HTTPClient", "config.mail", "class"]
    )
    assert names["logger"] == "logger" and names["config"] == "config"
    assert names["customer_repo"] == names["customerRepo"] == names["customer_repo_service"] == "customerRepo"
    assert names["customer_repo_config"] == names["customerRepoConfig"] == "config.customerRepo"
    assert names["http_client"] == "HTTPClient" and names["class_"] == "class"
    assert names["mail"] == names["mail_config"] == "config.mail"


def test_fields_become_legal_names() -> None:
    assert [to_python_name(field) for field in ("user-id", "from", "2fa", "ok", "")] == [
        "user_id",
        "from_",
        "_2fa",
        "ok",
        "_",
    ]
