"""What puts TypeScript tools together: the tool box, the services it is built from, and the settings."""

from __future__ import annotations

from ferrule.contracts.language import Project, Section
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings
from ferrule.definitions.stubs.languages.typescript.wiring import write_config, write_service, write_tool_box
from ferrule.model.value import JsonValue
from tests.definitions.stubs.languages.plans import injected, plan_of, tool_plan


def test_services_are_made_once_and_handed_to_tools() -> None:
    plan = plan_of(tool_plan(inject=injected("shop", "config.mail", "logger")))
    text = write_tool_box(plan, TypeScriptSurroundings(plan))
    assert 'import { newShop } from "../services/shop.js";' in text
    assert "  const shop = newShop(logger, config);\n" in text
    assert "createGetWeatherTool(shop, config.mail, logger)" in text


def test_what_nobody_is_handed_is_marked_as_unused() -> None:
    plan = plan_of(tool_plan(), project=Project(name="x", version="1"))
    assert "buildToolBox(_logger: Logger, _config: Config): ToolBox {" in write_tool_box(
        plan, TypeScriptSurroundings(plan)
    )
    given = plan_of(tool_plan(inject=injected("logger")), project=Project(name="x", version="1"))
    assert "buildToolBox(logger: Logger, _config: Config): ToolBox {" in write_tool_box(
        given, TypeScriptSurroundings(given)
    )


def test_a_tool_that_ferrule_brings_along_comes_from_its_generated_file() -> None:
    plan = plan_of(tool_plan(builtin="read"))
    text = write_tool_box(plan, TypeScriptSurroundings(plan))
    assert "  toolBox.add(getWeatherDefinition, remoteTool(getWeatherDefinition));\n" in text
    assert "createGetWeatherTool" not in text


def test_a_service_is_an_interface_and_what_makes_it() -> None:
    text = write_service(TypeScriptSurroundings(plan_of()).services["shop"])
    assert "/** Sells books. */\nexport interface Shop {" in text
    assert "export function newShop(logger: Logger, config: Config): Shop {" in text


def test_settings_are_kept_as_they_were_given_and_have_those_types() -> None:
    values: dict[str, JsonValue] = {"n": 1, "large": 2**53 + 1, "list": [1], "none": None, "user-id": True, "in": {}}
    plan = plan_of(project=Project(name="x", version="1", sections=(Section(name="all of it", settings=values),)))
    text = write_config(TypeScriptSurroundings(plan))
    for line in ("n: 1,", f"large: {2**53 + 1}n,", "list: [1],", "none: null,", '"user-id": true,', "in: {},"):
        assert f"      {line}\n" in text
    assert 'export type AllOfItConfig = Config["all of it"];\n' in text


def test_settings_take_their_part_from_the_environment() -> None:
    values: dict[str, JsonValue] = {"a": "$A", "b": "${B:-x}", "c": "`http://${H}:${P:-80}/\"'", "d": "a$b"}
    plan = plan_of(project=Project(name="x", version="1", sections=(Section(name="s", settings=values),)))
    text = write_config(TypeScriptSurroundings(plan))
    assert 'a: variable(logger, "A"),' in text
    assert 'b: variable(logger, "B", "x"),' in text
    assert """c: `\\`http://${variable(logger, "H")}:${variable(logger, "P", "80")}/"'`,""" in text
    assert 'd: "a$b",' in text
