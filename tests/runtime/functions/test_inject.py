"""Services, config and loggers for functions that run ADL tools: ADL-29 to ADL-37 at run time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml

from ferrule.app.app import App
from ferrule.app.assembly import open_app
from ferrule.contracts.executor import Context, Output, Waiting
from ferrule.errors import BindingError
from ferrule.model.result import Result
from ferrule.runtime.functions import Inject, service, tool
from ferrule.runtime.functions.function_tools import joined
from ferrule.runtime.functions.inject import parameter_names
from ferrule.runtime.surface.catalogs import EmptyCatalog
from ferrule.testing import memory_app
from tests.runtime.functions import shop_services
from tests.runtime.functions.shop_services import events
from tests.spec.scene import TRUSTED, played

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


def manifest(*inject: str, config: Any = CONFIG, schema: Mapping[str, Any] | None = None) -> dict[str, str]:
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


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    events.clear()
    monkeypatch.setenv("DB_PASSWORD", "s3cret-of-the-db")
    monkeypatch.delenv("PAYMENT_KEY", raising=False)
    monkeypatch.delenv("REGION", raising=False)
    yield
    events.clear()


@asynccontextmanager
async def opened(function: Any, *inject: str, more: tuple[Any, ...] = (), **said: Any) -> AsyncIterator[App]:
    """An app whose one ADL tool is run by a function."""
    given = (tool("clerk.look")(function), shop_services, *more)
    async with memory_app(tools=given, definitions=manifest(*inject, **said), policy=TRUSTED) as app:
        yield app


async def call(app: App, arguments: Any = None, name: str = "look") -> Result:
    outcome = await app.surface(principal="ada").call(name, {"order": "A-1"} if arguments is None else arguments)
    assert isinstance(outcome, Result), outcome
    return outcome


async def given(function: Any, *inject: str, **said: Any) -> Any:
    async with opened(function, *inject, **said) as app:
        result = await call(app)
        assert result.error is None, result.error
        return result.structured_content if result.structured_content is not None else result.content[0]["text"]


async def refused(function: Any, *inject: str, **said: Any) -> str:
    async with opened(function, *inject, **said) as app:
        result = await call(app)
        assert result.error is not None and result.error.error_class == "setup_required", result
        return result.error.message


@played
async def test_a_service_is_made_once_with_what_it_asks_for_and_closed_at_the_end() -> None:
    """ADL-30, ADL-34: by the factory the manifest names."""

    async def look(order: str, customer_repo: Any) -> str:
        return str(customer_repo.find(order))

    async with opened(look, "customerRepo") as app:
        assert events == []
        for _ in range(3):
            text = (await call(app)).content[0]["text"]
            assert text == "A-1 from postgres://app:[REDACTED]@db/shop"  # what it was given does not come back
        assert events == ["repo made by ferrule.services.customerRepo"]
    assert events[1:] == ["repo closed"]


@pytest.mark.parametrize("kind", ["async", "thread", "inline"])
@played
async def test_every_way_of_running_gets_its_services(kind: str) -> None:
    if kind == "async":

        @tool("clerk.look")
        async def look(order: str, mailer: Any) -> int:
            return int(mailer.limit)
    else:

        @tool("clerk.look", inline=kind == "inline")
        def look(order: str, mailer: Any) -> int:
            return int(mailer.limit)

    tools = (look, shop_services)
    async with memory_app(tools=tools, definitions=manifest("mailer"), policy=TRUSTED) as app:
        results = await asyncio.gather(*(call(app) for _ in range(5)))
        assert [result.structured_content for result in results] == [3] * 5
        assert sorted(events) == ["mailer made", "repo made by ferrule.services.customerRepo"]
    assert events[2:] == ["mailer closed", "repo closed"]  # the newest first


@pytest.mark.parametrize("name, value, closed", [
    ("queue", {"sections": ["database", "notifications"]}, None),
    ("session", "a session", "session closed"),
    ("lock", "a lock", "lock freed"),
    ("yielded", "yielded", "yielded closed"),
    ("asyncYielded", "async yielded", "async yielded closed"),
])  # fmt: skip
@played
async def test_factories_of_every_kind(name: str, value: Any, closed: str | None) -> None:
    async def look(order: str, it: Annotated[Any, Inject(name)]) -> Any:
        return it

    look.__annotations__["it"] = Annotated[Any, Inject(name)]
    config = {key: group for key, group in CONFIG.items() if key != "payments"}
    assert await given(look, name, config=config) == value
    assert closed is None or closed in events


@played
async def test_the_logger_is_the_tools_own() -> None:
    """ADL-30: always available, by name or by its type."""

    async def by_name(order: str, logger: Any) -> str:
        return str(logger.name)

    async def by_type(order: str, log: logging.Logger) -> str:
        return log.name

    assert await given(by_name, "logger") == "ferrule.tools.clerk.look"
    assert await given(by_type) == "ferrule.tools.clerk.look"


@played
async def test_a_section_of_the_config_is_read_only_and_filled_in() -> None:
    """ADL-36, ADL-37: placeholders come from the environment."""
    seen: list[Any] = []

    async def look(order: str, database_config: Mapping[str, Any]) -> str:
        seen.append(database_config)
        return str(database_config["url"])

    assert await given(look, "config.database") == "postgres://app:[REDACTED]@db/shop"
    assert seen[0]["url"] == "postgres://app:s3cret-of-the-db@db/shop"
    with pytest.raises(TypeError):
        seen[0]["url"] = "elsewhere"
    with pytest.raises(TypeError):
        seen[0]["pool"]["size"] = 5
    assert seen[0]["pool"]["hosts"] == ("a", "b")


@played
async def test_the_whole_config_comes_without_what_belongs_to_built_ins() -> None:
    """ADL-31"""

    async def look(order: str, config: Mapping[str, Any]) -> list[str]:
        return sorted(config)

    config = {key: group for key, group in CONFIG.items() if key != "payments"}
    assert await given(look, "config", config=config) == ["database", "notifications"]


@pytest.mark.parametrize("entry", ["config.payments", "config"])
@played
async def test_a_variable_that_is_not_set_is_named(entry: str) -> None:
    """ADL-37: before anything runs."""

    async def look(order: str, it: Any) -> str:
        raise AssertionError("it ran")

    look.__annotations__["it"] = Annotated[Any, Inject(entry)]
    message = await refused(look, entry)
    assert "PAYMENT_KEY" in message and "config.payments" in message


def test_defaults_and_secrets_of_placeholders() -> None:
    """ADL-37: what a placeholder stood for is told to whoever keeps secrets."""
    secrets: dict[str, str] = {}

    async def look(order: str, payments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(payments)

    async def run() -> None:
        async with memory_app(definitions=manifest("config.payments")) as app:
            under = app.catalog
        view, executor = joined(
            under, [tool("clerk.look")(look)], environment={"PAYMENT_KEY": "pk-1234567"}, on_secret=secrets.__setitem__
        )
        async with memory_app(catalog=view, executors=(executor,), policy=TRUSTED) as app:
            assert (await call(app)).structured_content == {"key": "pk-1234567", "region": "eu"}

    asyncio.run(run())
    assert secrets == {"PAYMENT_KEY": "pk-1234567"}


@played
async def test_a_service_and_a_section_of_one_name_stay_apart() -> None:
    """ADL-33: `notifications` and `config.notifications`."""

    async def both(order: str, notifications: Any, notifications_config: Mapping[str, Any]) -> list[Any]:
        return [notifications, dict(notifications_config)]

    async def alone(order: str, notifications: Mapping[str, Any]) -> Any:
        return dict(notifications)

    section = {"sender": "shop@example.com"}
    assert await given(both, "notifications", "config.notifications") == ["notifications", section]
    assert await given(alone, "config.notifications") == section


@played
async def test_a_path_leads_into_a_service_or_a_section() -> None:
    """ADL-32"""

    async def look(order: str, customer_repo_reader: Any, database_pool: Any) -> list[Any]:
        return [customer_repo_reader.find(order), database_pool["size"]]

    assert await given(look, "customerRepo.reader", "config.database.pool") == ["found A-1", 4]

    async def missing(order: str, customer_repo_writer: Any) -> str:
        return "no"

    assert "'writer'" in await refused(missing, "customerRepo.writer")


@pytest.mark.parametrize("entry, words", [
    ("broken", ("new_broken", "RuntimeError")),
    ("nothing", ("new_nothing", "gave nothing")),
    ("egg", ("egg needs hen needs egg",)),
    ("needy", ("new_needy", "'weather'")),
    ("absent", ("NewAbsent", "[functions] modules", '@ferrule.service("absent")')),
])  # fmt: skip
@played
async def test_what_cannot_be_made_asks_for_set_up(entry: str, words: tuple[str, ...]) -> None:
    """The factory is named; what it said may hold a secret."""

    async def look(order: str, it: Any) -> str:
        raise AssertionError("it ran")

    look.__annotations__["it"] = Annotated[Any, Inject(entry)]
    message = await refused(look, entry)
    assert all(word in message for word in words), message
    assert "hunter2" not in message


@played
async def test_a_factory_that_failed_is_tried_again() -> None:
    tries: list[int] = []

    @service("absent")
    async def sometimes() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no")
        return "there"

    async def look(order: str, absent: str) -> str:
        return absent

    async with opened(look, "absent", more=(sometimes,)) as app:
        first = await call(app)
        assert first.error is not None and first.error.error_class == "setup_required"
        assert (await call(app)).content[0]["text"] == "there"
        assert (await call(app)).content[0]["text"] == "there"
    assert len(tries) == 2


@played
async def test_a_call_that_is_given_up_does_not_take_the_service_along() -> None:
    going = asyncio.Event()

    @service("absent")
    async def slow() -> str:
        await going.wait()
        return "made"

    async def look(order: str, absent: str) -> str:
        return absent

    async with opened(look, "absent", more=(slow,)) as app:
        result = await app.surface(principal="ada").call("look", {"order": "A-1"}, timeout_seconds=0.05)
        assert isinstance(result, Result) and result.status == "timed_out"
        going.set()
        assert (await call(app)).content[0]["text"] == "made"


@played
async def test_no_factory_runs_for_a_call_that_is_refused() -> None:
    async def look(order: str, customer_repo: Any) -> str:
        return "ran"

    given = (tool("clerk.look")(look), shop_services)
    policy = '[[rules]]\nid = "no"\neffect = "deny"\ntools = ["clerk.look"]\n'
    async with memory_app(tools=given, definitions=manifest("customerRepo"), policy=policy) as app:
        assert (await call(app)).error is not None
    assert events == []


OPEN = {"type": "object", "properties": {"order": {"type": "string", "description": "Which."}}, "required": ["order"]}


@pytest.mark.parametrize("is_closed", [True, False])
@played
async def test_no_model_sends_what_is_injected(is_closed: bool) -> None:
    """AT-59: the name is no field, whatever the schema and the function would take."""

    async def narrow(order: str, logger: Any) -> str:
        return str(logger.name)

    async def wide(order: str, logger: Any, **more: Any) -> str:
        return str(logger.name)

    schema = {**OPEN, "additionalProperties": False} if is_closed else OPEN
    for function in (narrow, wide):
        async with opened(function, "logger", schema=schema) as app:
            assert "logger" not in str(app.surface(principal="ada").tools())
            refused = await call(app, {"order": "A-1", "logger": "mine"})
            assert refused.error is not None
            assert refused.error.error_class in ("schema_validation_failed", "invalid_arguments")
            assert (await call(app)).content[0]["text"] == "ferrule.tools.clerk.look"


@played
async def test_a_field_wins_over_a_service_of_its_name() -> None:
    schema = {
        "type": "object",
        "properties": {"mailer": {"type": "string", "description": "Whose."}},
        "required": ["mailer"],
    }

    async def look(mailer: str, mailer_service: Any) -> list[Any]:
        return [mailer, mailer_service.limit]

    async with opened(look, "mailer", schema=schema) as app:
        assert (await call(app, {"mailer": "DHL"})).structured_content == ["DHL", 3]


@played
async def test_what_the_definition_does_not_inject_is_refused() -> None:
    """ADL-30: the manifest says what a tool gets."""

    async def look(order: str, mailer: Annotated[Any, Inject("mailer")]) -> str:
        return "no"

    with pytest.raises(BindingError, match=r"'mailer', which is not in the tool's `inject`"):
        async with opened(look, "logger"):
            pass

    async def unfed(order: str, mailer: Any) -> str:
        return "no"

    with pytest.raises(BindingError, match="'mailer' is no field"):
        async with opened(unfed, "logger"):
            pass


@played
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
        result = await call(app, {"name": "Ann"}, "greet")
        tool_id = result.structured_content[1].removeprefix("ferrule.tools.") if result.structured_content else ""
        assert result.structured_content == ["Ann", f"ferrule.tools.{tool_id}", "hello from ferrule.services.greeting"]
        assert tool_id.endswith(".greet")
        unset = await call(app, {}, "lost")
        assert unset.error is not None and unset.error.error_class == "setup_required"
        assert '@ferrule.service("nowhere")' in unset.error.message
        sent = await call(app, {"name": "Ann", "by": ["me"]}, "greet")
        assert sent.error is not None and sent.error.error_class == "schema_validation_failed"


def test_mistakes_show_when_the_app_is_opened() -> None:
    @service("twice")
    def one() -> str:
        return "one"

    @service("twice")
    def two() -> str:
        return "two"

    with pytest.raises(BindingError, match="both make the service 'twice'"):
        joined(EmptyCatalog(), [one, two])
    with pytest.raises(BindingError, match="cannot name a service"):
        service("order-repo")(one)

    @tool(read_only=True)
    async def wants(it: Annotated[str, Inject("a..b")]) -> str:
        """Wrong."""
        return it

    with pytest.raises(BindingError, match=r"'a\.\.b' is nothing that can be injected"):
        joined(EmptyCatalog(), [wants])

    @tool(read_only=True)
    async def checked(order: str, log: logging.Logger) -> str:
        """Wrong."""
        return order

    @checked.check
    def check(order: str, log: logging.Logger) -> str | None:
        return None

    with pytest.raises(BindingError, match="something injected"):
        joined(EmptyCatalog(), [checked])


def test_parameters_by_their_entries() -> None:
    """ADL-33: each has its own."""
    names = parameter_names(
        ["logger", "config", "customerRepo", "config.customerRepo", "HTTPClient", "config.mail", "class"]
    )
    assert names["logger"] == "logger" and names["config"] == "config"
    assert names["customer_repo"] == names["customerRepo"] == names["customer_repo_service"] == "customerRepo"
    assert names["customer_repo_config"] == names["customerRepoConfig"] == "config.customerRepo"
    assert names["http_client"] == "HTTPClient" and names["class_"] == "class"
    assert names["mail"] == names["mail_config"] == "config.mail"


@played
async def test_going_on_after_an_answer_gets_them_too() -> None:
    """The function that resumes asks by the same names, or by annotation."""

    @tool("clerk.look")
    async def look(order: str, customer_repo: Any, context: Context) -> Waiting:
        return context.needs_input("Which one?", state=order.encode())

    @look.resume
    async def go_on(state: bytes, answer: str, customer_repo: Any, log: logging.Logger) -> list[str]:
        return [customer_repo.find(state.decode()), answer, log.name]

    async with memory_app(definitions=manifest("customerRepo")) as app:
        _, executor = joined(app.catalog, [look, shop_services])
        run = executor.prepare(app.catalog.preferred()[0].tool)
        output = await run.resume(b"A-1", "this", Context("inv_1", "ann", None, "default"))
        assert isinstance(output, Output)
        assert output.value == ["A-1 from postgres://app:s3cret-of-the-db@db/shop", "this", "ferrule.tools.clerk.look"]
        await executor.aclose()
    assert events[-1] == "repo closed"


def test_a_workspace_brings_its_own_factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADL-34: in the files of `[functions] modules`, tools and factories alike."""
    monkeypatch.setenv("DB_PASSWORD", "from-here")
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["shop.py"]\n[policy]\nmode = "trusted"\n')
    for name, text in manifest("customerRepo", "logger").items():
        (tmp_path / name).write_text(text)
    (tmp_path / "shop.py").write_text(
        "import ferrule\n"
        "def NewCustomerRepo(database_config):\n"
        "    return {'url': database_config['url']}\n"
        "@ferrule.tool('clerk.look')\n"
        "def look(order, customer_repo, logger):\n"
        "    return [order, customer_repo['url'], logger.name]\n"
    )

    async def run() -> None:
        async with open_app(tmp_path) as app:
            result = await call(app)
            url = "postgres://app:[REDACTED]@db/shop"
            assert result.structured_content == ["A-1", url, "ferrule.tools.clerk.look"], result

    asyncio.run(run())


@played
async def test_secrets_of_placeholders_are_known_before_any_tool_is_given_one() -> None:
    """AT-124: another tool that comes by the value does not tell it either."""

    @tool(read_only=True)
    def leak() -> str:
        """Has it from somewhere else."""
        return "the password is s3cret-of-the-db"

    async with memory_app(tools=[leak], definitions=manifest("logger"), policy=TRUSTED) as app:
        assert (await call(app, {}, "leak")).text == "the password is [REDACTED]"
