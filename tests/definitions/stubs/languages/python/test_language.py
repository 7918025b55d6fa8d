"""What stubs look like, kept so that a change of it is seen. `FERRULE_WRITE_GOLDEN=1` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ferrule.contracts.language import Project, Section, Service
from ferrule.definitions.stubs.languages.python.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice, plan_stubs
from ferrule.model.tool import raw
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.python.stub_modules import FLAVOURS, Given, plan_of, tool_of, written

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
    if os.environ.get("FERRULE_WRITE_GOLDEN"):
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
    inject = ["logger", "orderRepo", "config.mail"]
    item = {"id": "send_mail", "name": "Send", "description": "Send a mail.", "tags": ["mail"], "inject": inject}
    first, second = (tool_of(given) for given in _ORDERS)
    mail = replace(second, dialect="adl", payload=raw({"tool": {**item, "schema": _ORDERS[1].schema}}))
    made = plan_stubs(
        [first, mail], _PROJECT, LANGUAGE, StubChoice("implementation", is_project=True, flavour="msgspec")
    )
    for file in LANGUAGE.write(made).files:
        _kept(f"implementation/{file.path}", file.text)


def test_a_client() -> None:
    for file in LANGUAGE.write(replace(plan_of(_ORDERS, "msgspec"), is_project=True)).files:
        _kept(f"client/{file.path}", file.text)
