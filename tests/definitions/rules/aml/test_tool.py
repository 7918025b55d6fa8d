"""Rules about AML tools on odd values: whatever stands at any place, rules answer and none of them fails."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler.check import CRASHED, check_file
from ferrule.definitions.compiler.read import read
from ferrule.definitions.rules.aml.fields import FIELDS
from ferrule.definitions.rules.aml.tool import TOOL_RULES
from ferrule.definitions.rules.aml.transport_fields import EXTENSIONS, TRANSPORT_FIELDS
from ferrule.definitions.rules.aml.unbalanced_description import count_sentences
from ferrule.model.document import Source
from ferrule.model.value import Path
from ferrule.runtime.executors.database.settings import DatabaseSettings
from ferrule.runtime.executors.human.executor import TaskSettings
from ferrule.runtime.executors.lambda_.function import LambdaSettings
from ferrule.runtime.executors.queue.channel import QueueSettings
from ferrule.runtime.executors.rest.settings import RestTransport
from ferrule.workspace.parts import list_rule_pages, load_parts
from tests.definitions.rules.cases import HERE

SETTINGS = RuleSettings(today="2026-05-01")
BASES = [
    read(Source(path.name, path.read_bytes()))[0].value for path in sorted((HERE / "bases" / "tools").glob("*.tool.md"))
]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1.5,
        2**80,
        "",
        " ",
        "x",
        "object",
        [],
        {},
        [None],
        ["x", 1],
        [[]],
        [{}],
        {"x": None},
        {"type": {}},
        {"properties": {"transfer": {"const": "inline"}}, "type": "object"},
        {"enum": [], "default": 1},
        {"required": [{}]},
        {"oneOf": [{"items": [{"$ref": "x"}]}]},
        {"pattern": "(", "default": "a"},
    ]
)


def paths_of(value: Any, path: Path = ()) -> list[Path]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for step, member in members for below in paths_of(member, (*path, step)))]


def replace_member(value: Any, path: Path, member: Any) -> Any:
    if not path:
        return member
    value = copy.deepcopy(value)
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = member
    return value


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_rule_fails_on_odd_values(data: st.DataObject) -> None:
    value: Any = data.draw(st.sampled_from(BASES))
    for _ in range(data.draw(st.integers(1, 3))):
        value = replace_member(value, data.draw(st.sampled_from(paths_of(value)[1:])), data.draw(ODD))
    text = f"---\n{yaml.safe_dump(value, sort_keys=False)}---\n"
    report = check_file(Source("some.tool.md", text.encode()), load_parts(), SETTINGS)
    assert report.dialect == "aml"
    assert CRASHED not in {diagnostic.rule for diagnostic in report.diagnostics}


def test_every_code_of_the_tables_and_classes_has_a_page() -> None:
    pages = {page.code for page in list_rule_pages()}
    reported = {row.rule for row in FIELDS + TRANSPORT_FIELDS} | {rule.code for rule in TOOL_RULES}
    assert reported | {"AML-1", "AML-2", "AML-6"} <= pages


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("One", 1),
        ("One.", 1),
        ("One. two.", 1),
        ("One. Two.", 2),
        ("One.Two.", 1),
        ("One! 2 more? (Three.)", 3),
        ('He said "go." Then left.', 2),
        ("Use it, e.g. Monday. Or not.", 2),
        ("Ends with i.e.", 1),
        ("Ends... Again.", 2),
        ("Uses v1.2 now. Fine", 2),
        ("A line.\n  Another line.\n", 2),
        ("Écrit. Être.", 2),
    ],
)
def test_sentences_are_counted(text: str, count: int) -> None:
    assert count_sentences(text) == count


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("rest-api", RestTransport),
        ("lambda", LambdaSettings),
        ("message-queue", QueueSettings),
        ("database", DatabaseSettings),
        ("mcp", None),
    ],
)
def test_every_extension_that_an_executor_reads_is_known_to_the_check(
    kind: str, settings: type[msgspec.Struct] | None
) -> None:
    records = (TaskSettings, settings) if settings is not None else (TaskSettings,)
    read = {field.encode_name for record in records for field in msgspec.structs.fields(record)}
    assert set(EXTENSIONS[kind]) == {name for name in read if name.startswith("x-")}
