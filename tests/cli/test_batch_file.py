"""Files of calls: YAML, JSON or JSON lines, and every mistake with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.cli.batch_file import read_batch
from ferrule.errors import BatchError

YAML = """
# what to add
- name: add
  arguments: {a: 1, b: 2}
- [add, {a: 3, b: 4}]
"""


LINES = '{"name": "add", "arguments": {"a": 1, "b": 2}}\n\n["add", {"a": 3, "b": 4}]\n'


SUMS = [{"name": "add", "arguments": {"a": 1, "b": 2}}, ["add", {"a": 3, "b": 4}]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("calls.yaml", YAML),
        ("calls.yml", f"calls:{YAML.replace(chr(10), chr(10) + '  ')}\n"),
        ("calls.json", json.dumps(SUMS, indent=1)),
        ("calls.json", json.dumps({"calls": SUMS, "policy": {"max_parallel": 1}})),
        ("calls.jsonl", LINES),
        ("calls", YAML),
        ("calls", LINES),
        ("calls", json.dumps(SUMS)),
    ],
)
def test_a_file_may_be_yaml_json_or_json_lines(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    read = read_batch(str(tmp_path / name))
    assert [(call.name, call.arguments) for call in read.calls] == [
        ("add", {"a": 1, "b": 2}),
        ("add", {"a": 3, "b": 4}),
    ]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("c.jsonl", '{"name": "add"}\n{"name": }\n', "c.jsonl:2:10: not valid JSON"),
        ("c.jsonl", '{"name": "add"}\n{"nam": "add"}\n', "c.jsonl:2:2: a call has no 'nam'"),
        ("c.yaml", "- {name: add, id: x}\n- {name: add, id: x}\n", "c.yaml:2:19: the id 'x' is taken by call 0"),
        ("c.yaml", "- {name: add, depends_on: [0]}\n", "c.yaml:1:27: there is no other call 0"),
        ("c.yaml", "- name: add\n  name: sub\n", "c.yaml:2:3: "),
        ("c.yaml", "a: [\n", "not valid YAML"),
        ("c.yaml", "--- []\n--- []\n", "a batch is one document"),
        ("c.yaml", "", "there is nothing in it"),
        ("c.yaml", "7", "a batch is a list of calls"),
        ("c.json", "[", "not valid JSON"),
        ("c.json", "[]", "holds no call"),
        ("c.json", '[{"name": 7}]', "c.json:1:"),
        ("c.json", '{"calls": {}}', "`calls` is a list"),
        ("c.json", '{"calls": [], "policy": []}', "`policy` is a mapping"),
        ("c.bin", "\0\1", "binary, not text"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(BatchError) as refused:
        read_batch(name)
    assert told in str(refused.value)


def test_a_yaml_tag_makes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text("- !!python/object/apply:os.system [echo]\n")
    assert [(call.name, call.arguments) for call in read_batch(str(file)).calls] == [("echo", {})]


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "calls", "policy", "id", "depends_on", "arguments"]),
    inner, max_size=3), max_leaves=8).map(lambda value: json.dumps(value).encode()))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    for name in ("calls.yaml", "calls.json", "calls.jsonl", "calls"):
        file = tmp_path_factory.getbasetemp() / name
        file.write_bytes(data)
        try:
            assert read_batch(str(file)).calls
        except BatchError as refused:
            assert str(refused)
