"""Projects that are workspaces of their own have copies of definitions, which say what the definitions say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.extension import differences
from ferrule.definitions.content.guidance import described
from ferrule.definitions.stubs.languages.python.copies import definition_files, yaml_text
from ferrule.definitions.stubs.languages.python.language import LANGUAGE
from ferrule.definitions.stubs.plan import Choice, plan
from ferrule.model.document import Source
from ferrule.model.tool import Tool, raw
from ferrule.workspace.workspace import Workspace
from tests.cli.run import ferrule
from tests.definitions.stubs.languages.python.workbench import PROJECT, Given, plan_of

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)
_HARD_TEXT = (
    "\U0001f600 \U000e0001 \U0001fffe \ufffe \uffff \ufeff\x00\x1f\x7f\x85\xa0\u2028\u2029\u202e\"'\\/ : # - ? \t\r\n"
)


def _read(text: str) -> Any:
    (document,) = read(Source("copy.yaml", f"# A comment.\n{text}\n".encode()))
    assert not document.issues, document.issues
    return document.value


@given(st.dictionaries(_TEXT, _VALUES, max_size=4))
def test_readers_of_yaml_get_the_values_of_json(value: dict[str, Any]) -> None:
    text = yaml_text(value)
    assert not [one for one in text if not one.isprintable() and one != "\n"]
    assert _read(text) == value
    assert yaml.safe_load(text) == value


def test_hard_texts_and_long_names_are_read_as_they_were_written() -> None:
    value = {
        _HARD_TEXT: _HARD_TEXT,
        "\U000e0001" * 400: [{"k" * 3_000: 1e30}],
        "n": [-0.0, 1.5e-9, 10**40],
        "e": [{}, []],
    }
    assert _read(yaml_text(value)) == value
    assert yaml.safe_load(yaml_text(value)) == value


@given(_TEXT, _TEXT)
def test_any_text_of_a_definition_survives(said: str, name: str) -> None:
    schema = {"type": "object", "description": said, "properties": {name: {"const": said}}}
    (file,) = definition_files(plan_of([Given("t", schema, None, said)], "msgspec", kind="implementation"))
    (document,) = read(Source(file.path, file.text.encode()))
    assert isinstance(document.value, dict)
    assert document.value["description"] == (said or "A tool.")
    assert document.value["input_contract"] == {"model_input_schema": schema}


_RETRIEVAL = """---
spec_version: "1.2"
tool_id: find_book
version: "1.4.0"
status: active
meta:
  name: Find a book
  description: "Finds a book by what it is about. \U0001f4da"
  owner: web-store
  tags: [books, reading]
type: retrieval
interface:
  input:
    type: object
    properties:
      about: {type: string, maxLength: 80, description: "What it is about. \U0001f600"}
    required: [about]
    additionalProperties: false
  output:
    type: object
    properties:
      title: {type: string, maxLength: 80, description: "What it is called."}
    additionalProperties: false
transport:
  type: rest-api
  base_url: https://books.example.com
  endpoint: GET /find
  credentials: {scheme: api-key, source: env, name: BOOKS_KEY, header: X-Key}
use_guidance:
  use_when: ["Somebody looks for a book."]
  do_not_use_when: ["Somebody has it."]
---
"""
_COURIER = {
    "tools": [
        {
            "id": "Courier.Book@1.2.0",
            "name": "Courier_Book",
            "description": "Books a courier.",
            "version": "1.2.0",
            "input_schema": {
                "parameters": {"type": "object", "properties": {"to": {"type": "string", "description": "Where."}}}
            },
            "output_schema": {"type": "object"},
            "requirements": {"secrets": [{"id": "COURIER_KEY"}]},
        }
    ]
}
_COUNT = {
    "schema_version": "0.2.0",
    "tool_id": "count_words",
    "namespace": "texts",
    "name": "count_words",
    "title": "Count words",
    "description": "Counts the words of a text.",
    "lifecycle": "available",
    "tool_kind": "file_operation",
    "version": "3.0.0",
    "aliases": ["wc"],
    "interface_ref": "count",
    "input_contract": {"model_input_schema": {"type": "object", "properties": {"of": {"type": "string"}}}},
}
_INTERFACE = {
    "schema_version": "0.2.0",
    "interface_id": "count",
    "tool_id": "count_words",
    "is_read_only": True,
    "is_concurrency_safe": True,
    "is_destructive": False,
    "requires_user_interaction": False,
}
_AGENT = {
    "apiVersion": "adl.inference-gateway.com/v1",
    "kind": "Agent",
    "metadata": {"name": "clerk", "description": "Keeps orders", "version": "1.2.0"},
    "spec": {
        "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
        "server": {"port": 8080},
        "language": {"go": {"module": "shop.example/clerk", "version": "1.24"}},
        "config": {
            "mail": {"sender": "${MAIL_SENDER}", "server": {"port": 25}},
            "tools": {"read": {"enabled": True, "allowed_roots": ["."]}},
        },
        "tools": [
            {
                "id": "send",
                "name": "send",
                "description": "Sends a mail.",
                "tags": ["mail"],
                "inject": ["logger", "config.mail.server"],
                "schema": {"type": "object", "properties": {"to": {"type": "string"}}},
            },
            {
                "id": "plain",
                "name": "plain",
                "description": "Needs nothing.",
                "tags": ["mail"],
                "schema": {"type": "object", "properties": {"to": {"type": "string"}}},
            },
            {"id": "read"},
        ],
    },
    "x-ferrule": {"tools": {"plain": {"facts": {"is_read_only": True}, "owner": "post"}}},
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Definitions in every dialect, and a project elsewhere."""
    source, project = tmp_path_factory.mktemp("definitions"), tmp_path_factory.mktemp("project") / "own"
    (source / "ferrule.toml").write_text('namespace = "shop"\n')
    (source / "find_book.tool.md").write_text(_RETRIEVAL, encoding="utf-8")
    (source / "courier.json").write_text(json.dumps(_COURIER))
    (source / "count.json").write_text(json.dumps([_COUNT, _INTERFACE]))
    (source / "clerk.yaml").write_text(json.dumps(_AGENT))
    done = ferrule("gen", "python", "--project", "--out", str(project), folder=source)
    assert done.code == 0, done.out + done.err
    return source, project


def _tools(folder: Path) -> dict[str, Tool]:
    built = ferrule("build", folder=folder)
    assert built.code == 0, built.out + built.err
    listed = Workspace.open(folder).compile()
    return {tool.tool_id: tool for file in listed for compiled in file.compiled for tool in compiled.tools}


def test_copies_say_what_the_definitions_say(copied: tuple[Path, Path]) -> None:
    source, project = copied
    checked = ferrule("check", folder=project)
    assert checked.code == 0, checked.out
    before, after = _tools(source), _tools(project)
    assert before.keys() == after.keys()
    unlike = {name: differences(tool, after[name]) for name, tool in before.items()}
    assert {name: fields for name, fields in unlike.items() if fields} == {
        "find_book": ["credentials"],
        "Courier.Book": ["credentials"],
        # The interface is a record of its own in the workspace, and is joined when that is built.
        "count_words": ["facts.is_read_only", "facts.is_concurrency_safe", "inferred_facts"],
    }
    assert described(after["find_book"]) == described(before["find_book"]) != before["find_book"].description
    assert [bytes(after[name].credentials or b"") for name in ("find_book", "Courier.Book")] == [
        b'["BOOKS_KEY"]',
        b'["COURIER_KEY"]',
    ]
    assert (after["count_words"].facts.is_read_only, after["count_words"].inferred_facts[:1]) == (
        True,
        ("is_open_world",),
    )


def test_a_tool_that_only_reads_answers_at_once_in_its_copy_too(copied: tuple[Path, Path]) -> None:
    _, project = copied
    assert ferrule("build", folder=project).code == 0
    for tool, given_ in (("find_book", {"about": "tea"}), ("count_words", {}), ("plain", {})):
        answered = ferrule("call", tool, "--input", json.dumps(given_), "--json", folder=project)
        assert json.loads(answered.out)["status"] == "succeeded", answered.out + answered.err
    asked = ferrule("call", "Courier_Book", "--input", "{}", "--json", folder=project)
    assert '"succeeded"' not in asked.out


def test_two_agents_of_one_name_have_two_files() -> None:
    tools = [
        Tool(
            tool_id=f"{agent}.t{number}",
            namespace=agent,
            name=f"t{number}",
            description="A tool.",
            lifecycle="available",
            tool_kind="function",
            dialect="adl",
            version="1.0.0",
            payload=raw({"tool": {"id": f"t{number}", "name": "t", "schema": {}}}),
        )
        for number, agent in enumerate(("a-b", "a_b"))
    ]
    assert [file.path for file in definition_files(plan(tools, PROJECT, LANGUAGE, Choice()))] == [
        "definitions/a-b.agent.yaml",
        "definitions/a-b-2.agent.yaml",
    ]
