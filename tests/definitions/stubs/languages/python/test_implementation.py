"""Implementation stubs as Ferrule runs them: a project is made, its tools are written, and calls go through the pipeline."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.run import ferrule
from tests.definitions.stubs.languages.python.stub_modules import checked_by_mypy, ran, ruff_objects

_AGENT = {
    "apiVersion": "adl.inference-gateway.com/v1",
    "kind": "Agent",
    "metadata": {"name": "clerk", "description": "Keeps the orders of a shop", "version": "1.2.0"},
    "spec": {
        "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
        "server": {"port": 8080},
        "language": {"go": {"module": "shop.example/clerk", "version": "1.24"}},
        "services": {
            "orderRepo": {
                "type": "repository",
                "interface": "OrderRepo",
                "factory": "NewOrderRepo",
                "description": "The orders",
            }
        },
        "config": {
            "mail": {"sender": "shop@example.com", "retries": 3, "server": {"port": 25}},
            "tools": {"write": {"enabled": True, "allowed_roots": ["."]}},
        },
        "tools": [
            {
                "id": "find_order",
                "name": "find_order",
                "description": 'Find an order by its number """ and more',
                "tags": ["orders"],
                "inject": ["logger", "orderRepo", "config.mail", "config.mail.server"],
                "schema": {
                    "type": "object",
                    "properties": {
                        "order-id": {"type": "string", "description": "The number"},
                        "from": {"type": ["string", "null"]},
                        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
                        "ferrule_context": {"type": "string"},
                    },
                    "required": ["order-id"],
                    "additionalProperties": False,
                    "$defs": {"line": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
                },
            },
            {"id": "write"},
        ],
    },
}
_SINGLE = {
    "schema_version": "0.2.0",
    "tool_id": "shop.price",
    "namespace": "shop",
    "name": "price",
    "title": "Price",
    "description": "What something costs, in euros.",
    "lifecycle": "available",
    "tool_kind": "function",
    "input_contract": {
        "model_input_schema": {
            "type": "object",
            "properties": {"of": {"type": "string"}, "a b": {"type": "integer"}, "a_b": {"type": "integer"}},
            "required": ["of"],
        }
    },
    "output_contract": {
        "structured_schema": {
            "type": "object",
            "properties": {"euros": {"type": "number", "minimum": 1}},
            "required": ["euros"],
        }
    },
}
_POLICY = '[[rules]]\nid = "all"\ndecision = "allow"\nreason = "a test"\n'


def _defined(source: Path) -> None:
    """A workspace of two definitions."""
    source.mkdir()
    (source / "ferrule.toml").write_text('namespace = "shop"\n')
    (source / "clerk.yaml").write_text(json.dumps(_AGENT))
    (source / "price.json").write_text(json.dumps(_SINGLE))
    (source / "policy.toml").write_text(_POLICY)


def _made(folder: Path, flavour: str = "msgspec") -> Path:
    """A workspace of two definitions, with a project of stubs in it that it knows."""
    source = folder / "shop"
    _defined(source)
    done = ferrule("gen", "python", "--flavour", flavour, "--project", "--out", "stubs", folder=source)
    assert done.code == 0, done.out + done.err
    with (source / "ferrule.toml").open("a") as file:
        file.write('[functions]\npaths = ["stubs"]\nmodules = ["tools.registry"]\n')
    return source / "stubs"


def _called(source: Path, tool: str, **arguments: object) -> tuple[int, str]:
    return ran(sys.executable, "-m", "ferrule", "call", tool, "--input", json.dumps(arguments), "--json", cwd=source)


def _write(file: Path, body: str) -> None:
    """What a person would write, instead of what a stub does."""
    text = file.read_text()
    file.write_text(text[: text.index("    # TODO")] + body)


def _write_find_order(project: Path) -> None:
    body = """    context.progress("looking")
    assert isinstance(logger, logging.Logger)
    lines = [line.n for line in input.lines or []]
    number = order_repo.known(input.order_id)
    return {"number": number, "sender": mail_config["sender"], "lines": lines}
"""
    _write(project / "tools" / "find_order.py", body)
    service = project / "services" / "order_repo.py"
    made = service.read_text().replace(
        '    """The orders"""\n',
        '    """The orders"""\n\n    def known(self, number: str) -> str:\n        return f"known {number}"\n',
    )
    service.write_text(made)


@pytest.mark.parametrize("flavour", ["msgspec", "pydantic"])
def test_a_project_is_what_ferrule_and_mypy_want_and_its_tools_run(tmp_path: Path, flavour: str) -> None:
    project = _made(tmp_path, flavour)
    source = project.parent
    assert ferrule("check", folder=source).code == 0
    assert ferrule("build", folder=source).code == 0
    code, said = _called(source, "find_order", **{"order-id": "A1"})
    assert (code, "capability_gap" in said) == (1, True), said
    assert ruff_objects(project) == ""
    _write_find_order(project)
    _write(project / "tools" / "price.py", "    return PriceOutput(euros=input.a_b or 1)\n")
    assert checked_by_mypy(project, "tools", "services", "tests") == (0, "")
    assert ruff_objects(project) == ""
    code, said = _called(source, "find_order", **{"order-id": "A1", "lines": [{"n": 2.0}], "from": None})
    assert code == 0, said
    result = json.loads(said)["structured_content"]
    assert result == {"number": "known A1", "sender": "shop@example.com", "lines": [2]}
    code, said = _called(source, "price", of="tea", **{"a b": 1, "a_b": 2})
    assert (code, json.loads(said)["structured_content"]) == (0, {"euros": 2}), said
    code, said = ran(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=project)
    assert (code, "2 skipped" in said) == (0, True), said


@pytest.mark.parametrize("place", ["stubs", "code/python", "."])
def test_a_project_beside_its_definitions_leaves_them_where_they_are(tmp_path: Path, place: str) -> None:
    source = tmp_path / "shop"
    _defined(source)
    done = ferrule("gen", "python", "--project", "--out", place, folder=source)
    assert done.code == 0, done.out + done.err
    project = source / place
    page = (project / "README.md").read_text()
    settings = [line.strip() for line in page.split("\n") if line.startswith("    ")]
    assert settings == [
        "[functions]",
        *([] if place == "." else [f'paths = ["{place}"]']),
        'modules = ["tools.registry"]',
    ]
    assert f"{' and '.join(settings[1:])} below [functions] in ferrule.toml" in done.out
    with (source / "ferrule.toml").open("a") as file:
        file.write("\n".join(settings) + "\n")
    _write_find_order(project)
    assert ferrule("build", folder=source).code == 0
    code, said = _called(source, "find_order", **{"order-id": "A1"})
    assert code == 0, said
    assert json.loads(said)["structured_content"]["number"] == "known A1"


def test_types_of_services_are_no_types_of_anything_else(tmp_path: Path) -> None:
    agent = json.loads(json.dumps(_AGENT))
    spec = agent["spec"]
    about = {"type": "service", "description": "x"}
    names = {"mail": "MailConfig", "any": "Any", "order": "FindOrderInput", "one": "Repo", "two": "Repo"}
    spec["services"] = {
        name: {**about, "interface": interface, "factory": f"New{interface}"} for name, interface in names.items()
    }
    spec["tools"][0]["inject"] = [*names, "config.mail", "config"]
    (tmp_path / "agent.yaml").write_text(json.dumps(agent))
    done = ferrule("gen", "python", "agent.yaml", "--project", "--out", "stubs", folder=tmp_path)
    assert done.code == 0, done.out + done.err
    assert checked_by_mypy(tmp_path / "stubs", "tools", "services", "tests") == (0, "")
    assert ruff_objects(tmp_path / "stubs") == ""


def test_a_tool_that_comes_along_with_ferrule_needs_no_function(tmp_path: Path) -> None:
    project = _made(tmp_path)
    source = project.parent
    assert ferrule("build", folder=source).code == 0
    code, said = _called(source, "write", file_path="note.txt", content="hello")
    assert (code, (source / "note.txt").read_text()) == (0, "hello"), said
    assert (project / "tools" / "_generated" / "write.py").exists() and not (project / "tools" / "write.py").exists()


def test_a_changed_definition_is_told_by_the_type_checker_and_by_ferrule(tmp_path: Path) -> None:
    project = _made(tmp_path, "pydantic")
    source = project.parent
    _write(project / "tools" / "price.py", "    return PriceOutput(euros=len(input.of))\n")
    assert checked_by_mypy(project, "tools") == (0, "")
    single = json.loads(json.dumps(_SINGLE))
    single["input_contract"]["model_input_schema"]["properties"]["of"] = {"type": "integer"}
    (source / "price.json").write_text(json.dumps(single))
    assert ferrule("build", folder=source).code == 0
    code, said = _called(source, "price", of=1)  # the types are older than the definition
    assert (code, "tools.price:price does not fit the tool shop.price" in said) == (2, True), said
    done = ferrule("gen", "--out", "stubs", folder=source)
    assert "tools/price.py: what shop.price takes, gives or is given has changed" in done.out
    code, said = checked_by_mypy(project, "tools")
    assert code == 1 and "tools/price.py" in said


def test_a_changed_injection_is_told_by_the_type_checker(tmp_path: Path) -> None:
    project = _made(tmp_path)
    agent = json.loads(json.dumps(_AGENT))
    agent["spec"]["tools"][0]["inject"] = ["logger", "config.mail", "orderRepo", "config.mail.server"]
    (project.parent / "clerk.yaml").write_text(json.dumps(agent))
    assert ferrule("gen", "--out", "stubs", folder=project.parent).code == 0
    code, said = checked_by_mypy(project, "tools")
    assert code == 1 and "tools/registry.py" in said


def test_an_error_of_a_persons_function_is_a_failed_call(tmp_path: Path) -> None:
    project = _made(tmp_path, "pydantic")
    _write(
        project / "tools" / "price.py",
        '    raise ferrule.ToolFailed("no such thing", error_class="invalid_arguments")\n',
    )
    assert ferrule("build", folder=project.parent).code == 0
    code, said = _called(project.parent, "price", of="tea")
    assert (code, "no such thing" in said, "invalid_arguments" in said) == (1, True, True), said
