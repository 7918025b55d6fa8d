"""Plans of single tools for tests of what a language writes, without any compiler."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.language import Injected, Project, Section, Service, StubPlan, ToolPlan
from ferrule.contracts.type_tree import TypeTree
from ferrule.definitions.stubs.identifiers import ACRONYMS
from ferrule.definitions.stubs.tree import make_type_tree

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WHOLE: dict[str, Any] = {"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]}
SHOP = Service(name="shop", interface="Shop", factory="NewShop", description="Sells books.")
MAIL = Section(name="mail", settings={"sender": "a@example.com", "retries": 3})
PROJECT = Project(name="clerk", version="1.0.0", services=(SHOP,), sections=(MAIL,), acronyms=ACRONYMS)


def tree_of(schema: Any, root: str = "GetWeatherInput") -> TypeTree:
    """The types of a schema, called after the tool."""
    return make_type_tree(schema, root, prefix="GetWeather")


def member_tree(schema: Any) -> TypeTree:
    """The types of an object with one member, `a`."""
    return tree_of({"type": "object", "properties": {"a": schema}})


def tool_plan(takes: Any = CITY, gives: Any = None, **more: Any) -> ToolPlan:
    """The tool `get_weather`. `inject`: a name of what it is given, or several in a tuple."""
    output = None if gives is None else msgspec.Raw(msgspec.json.encode(gives))
    given: dict[str, Any] = {
        "tool_id": "shop.get_weather",
        "name": "get_weather",
        "stem": "get_weather",
        "type_name": "GetWeather",
        "title": "",
        "description": "Tells the weather.",
        "digest": "sha256:" + "0" * 64,
        "contract": "0a1b2c3d",
        "input": tree_of(takes),
        "output": None if gives is None else tree_of(gives, "GetWeatherOutput"),
        "input_schema": msgspec.Raw(msgspec.json.encode(takes)),
        "output_schema": output,
    }
    return ToolPlan(**given | more)


def injected(*names: str) -> tuple[Injected, ...]:
    """What a tool is given: `logger`, `config`, `config.mail` or a service."""
    return tuple(
        Injected(name)  # type: ignore[arg-type]  # one of the two
        if name in ("logger", "config")
        else Injected("section", name.removeprefix("config."))
        if name.startswith("config.")
        else Injected("service", name)
        for name in names
    )


def plan_of(*tools: ToolPlan, project: Project = PROJECT, **more: Any) -> StubPlan:
    """The plan of some tools."""
    given: dict[str, Any] = {"kind": "implementation", "project": project, "tools": tools}
    return StubPlan(**given | more)
