"""Ferrule runs a generated Go program for the tools that it was generated from, and holds their calls to their schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import Ran, ferrule
from tests.definitions.stubs.languages.toolchains import go

_TOOL = {
    "id": "Shop.Total@1.0.0",
    "name": "total",
    "description": "Add up what a customer ordered, and tell it in euros.",
    "version": "1.0.0",
    "input_schema": {
        "parameters": {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "description": "How many.", "minimum": 1},
                "note": {"type": ["string", "null"], "description": "What to say, or nothing."},
            },
            "required": ["count"],
            "additionalProperties": False,
        }
    },
    "output_schema": {
        "type": "object",
        "properties": {"euros": {"type": "number"}, "note": {"type": "string"}},
        "required": ["euros", "note"],
    },
    "requirements": {},
}
_WORK = """\
	return TotalOutput{Euros: float64(input.Count) * 2.5, Note: fmt.Sprint(input.Note.IsSet, input.Note.Value == nil)}, nil
}
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose tool a Go program runs."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "tools").mkdir()
    (folder / "tools" / "shop.json").write_text(json.dumps({"tools": [_TOOL]}))
    settings = 'namespace = "shop"\n\n[mcp.programs.clerk]\ncommand = ["./stubs/clerk"]\ntools = ["Shop.Total"]\n'
    (folder / "ferrule.toml").write_text(settings)
    (folder / "policy.toml").write_text('[[rules]]\nid = "all"\ndecision = "allow"\nreason = "a test"\n')
    made = ferrule("gen", "go", "--project", "--out", "stubs", folder=folder)
    assert made.code == 0, made.err
    path = folder / "stubs" / "tools" / "total.go"
    text = path.read_text().replace('import "context"', 'import (\n\t"context"\n\t"fmt"\n)')
    path.write_text(text[: text.index("\t// TODO")] + _WORK)
    go().run("build", "-o", "clerk", ".", cwd=folder / "stubs")
    return folder


def _call(workspace: Path, arguments: str) -> Ran:
    return ferrule("call", "total", "--input", arguments, "--json", folder=workspace)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ('{"count": 2}', {"euros": 5, "note": "false true"}),
        ('{"count": 2.0, "note": null}', {"euros": 5, "note": "true true"}),
        ('{"count": 3, "note": ""}', {"euros": 7.5, "note": "true false"}),
    ],
)
def test_a_call_is_done_by_the_program(workspace: Path, arguments: str, output: object) -> None:
    ran = _call(workspace, arguments)
    assert ran.code == 0, ran.out + ran.err
    assert json.loads(ran.out)["structured_content"] == output


def test_a_call_that_the_schema_refuses_never_comes_to_the_program(workspace: Path) -> None:
    ran = _call(workspace, '{"count": 0}')
    assert ran.code != 0
    assert json.loads(ran.out)["error"]["error_class"] == "schema_validation_failed"
