"""What stubs look like, kept so that a change of it is seen. `FERRULE_UPDATE_GOLDEN=1` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ferrule.contracts.language import Injected, Project, Section, Service, SourceFile
from ferrule.languages.python.language import LANGUAGE
from tests.languages.nasty import CASES
from tests.languages.python.workbench import FLAVOURS, Given, plan_of, written

_GOLDEN = Path(__file__).with_name("golden")
_GIVEN = [Given(case.name, case.schema, case.schema) for case in CASES]
_PROJECT = Project(
    name="clerk",
    version="1.2.0",
    description="Keeps the orders.",
    services=(Service(name="orderRepo", interface="OrderRepo", factory="NewOrderRepo", description="The orders."),),
    sections=(Section(name="mail", settings={"sender": "shop@example.com", "retries": 3, "on": True}),),
)
_ORDERS = [
    Given(
        "find_order",
        {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        {"type": "object", "properties": {"state": {"enum": ["open", "sent"]}}, "required": ["state"]},
        "Find an order.",
    ),
    Given("send_mail", {"type": "object", "properties": {"to": {"type": "string"}}}, None, "Send a mail."),
]


def _kept(path: str, text: str) -> None:
    file = _GOLDEN / f"{path}.txt"
    if os.environ.get("FERRULE_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_types_of_the_catalog(flavour: str) -> None:
    files = {file.path: file.text for file in written(_GIVEN, flavour).files if file.tool_id}
    for path, text in files.items():
        _kept(f"{flavour}/{Path(path).name}", text)
    assert len(files) == len(CASES)


def test_an_implementation() -> None:
    plan = plan_of(_ORDERS, "msgspec", kind="implementation", project=_PROJECT)
    first, second = plan.tools
    inject = (Injected("logger"), Injected("service", "orderRepo"), Injected("section", "mail"))
    tools = (replace(first, inject=inject), second)
    for file in _own(LANGUAGE.write(replace(plan, tools=tools, is_project=True)).files):
        _kept(f"implementation/{file.path}", file.text)


def test_a_client() -> None:
    for file in _own(written(_ORDERS, "msgspec").files):
        _kept(f"client/{file.path}", file.text)


def _own(files: tuple[SourceFile, ...]) -> list[SourceFile]:
    """Those that differ from plan to plan."""
    return [file for file in files if "_support/" not in file.path]
