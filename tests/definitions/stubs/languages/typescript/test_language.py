"""The exact text of stubs. After a deliberate change run with FERRULE_WRITE_GOLDEN=1 and read the diff."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from ferrule.contracts.language import Injected, Project, Section, Service, StubPlan
from ferrule.definitions.stubs.languages.typescript.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.typescript.compiled_program import planned, tool_of

GOLDEN = Path(__file__).with_name("golden")
_PROJECT = Project(
    name="clerk",
    version="1.0.0",
    services=(
        Service(name="orderRepo", interface="OrderRepo", factory="NewOrderRepo", description="Where orders are."),
    ),
    sections=(Section(name="database", settings={"url": "${DATABASE_URL}", "pool": 5}),),
)
_WHOLE = {
    "config.ts": "src/config.ts",
    "index.ts": "src/tools/index.ts",
    "main.ts": "src/main.ts",
    "find_order.ts": "src/tools/find_order.ts",
    "find_order.generated.ts": "src/tools/generated/find_order.ts",
    "find_order.test.ts": "test/find_order.test.ts",
    "orderRepo.ts": "src/services/orderRepo.ts",
    "package.json": "package.json",
    "tsconfig.json": "tsconfig.json",
}
"""The files of one project that are kept, by the names they are kept under."""


def _settled(plan: StubPlan) -> StubPlan:
    """With digests that do not depend on how definitions are kept."""
    tools = tuple(replace(tool, digest=f"sha256:{'0' * 64}", contract="00000000") for tool in plan.tools)
    return replace(plan, tools=tools)


@cache
def _catalog() -> dict[str, str]:
    tools = [tool_of(case.name, case.schema) for case in CASES]
    return {file.path: file.text for file in LANGUAGE.write(_settled(planned(tools))).files}


@cache
def _whole(kind: str, flavour: str = "ajv") -> dict[str, str]:
    order = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    tool = tool_of("find_order", order, order, description="Finds an order.", title="Find order", tags=("orders",))
    choice = StubChoice(kind="client") if kind == "client" else StubChoice(is_project=True, flavour=flavour)
    made = _settled(planned([tool], choice, _PROJECT))
    injected = (Injected("logger"), Injected("service", "orderRepo"), Injected("section", "database"))
    given = replace(made, tools=(replace(made.tools[0], inject=injected if kind != "client" else ()),))
    return {file.path: file.text for file in LANGUAGE.write(given).files}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_types_of_the_catalog(case: object) -> None:
    name = str(getattr(case, "name", ""))
    _same(f"catalog/{name}.ts", _catalog()[f"src/tools/generated/{name}.ts"])


@pytest.mark.parametrize("name", _WHOLE)
def test_the_files_of_a_project(name: str) -> None:
    """ADL-45: a function that makes the tool, dependencies by closure, one tool box, services and settings beside it."""
    _same(f"project/{name}", _whole("implementation")[_WHOLE[name]])


@pytest.mark.parametrize("name", ["index.ts", "tools/find_order.ts"])
def test_the_client(name: str) -> None:
    _same(f"client/{name}", _whole("client")[f"src/client/{name}"])


def test_the_schemas_of_zod() -> None:
    _same("zod/find_order.ts", _whole("implementation", "zod")["src/tools/generated/find_order.ts"])
    tools = [tool_of(case.name, case.schema) for case in CASES if case.name in ("tagged", "recursive", "lists")]
    for file in LANGUAGE.write(_settled(planned(tools, StubChoice(flavour="zod")))).files:
        if "/generated/" in file.path:
            _same(f"zod/{file.path.rpartition('/')[2]}", file.text)


def _same(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("FERRULE_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    assert path.read_text(encoding="utf-8") == text
