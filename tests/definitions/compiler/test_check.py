"""Any damage to a valid definition gives diagnostics: never a traceback, never a failed rule, never an impossible place."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.definitions.compiler.read import split_front_matter
from ferrule.model.diagnostic import Report
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.texts import damaged_texts, values
from tests.definitions.rules.cases import HERE

BASES = sorted(path for path in (HERE / "bases").glob("**/*") if path.suffix in (".md", ".yaml", ".json"))
SEEDS = {path.relative_to(HERE / "bases").as_posix(): path.read_text(encoding="utf-8") for path in BASES}


def check(files: dict[str, str | bytes]) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        return Workspace.open(folder).check(now="2026-05-01", use_cache=False, jobs=1)


def is_sane(report: Report, text: str | bytes) -> None:
    lines = text.count("\n" if isinstance(text, str) else b"\n") + 2  # type: ignore[arg-type]
    for found in report.diagnostics:
        assert found.rule != "FER-5", found.message
        assert 1 <= found.line <= lines and found.column >= 1
        assert found.end_line >= found.line
        assert found.message and "None" not in found.message[:4]
    json.dumps([found.message for found in report.diagnostics])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_edit_of_a_valid_file_gives_diagnostics(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SEEDS)))
    text = data.draw(damaged_texts(SEEDS[name]))
    is_sane(check({name: text}), text)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_value_in_any_place_gives_diagnostics(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SEEDS)))
    text = _with_odd_values(SEEDS[name], name, data)
    is_sane(check({name: text}), text)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_workspace_with_odd_files_gives_diagnostics(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(SEEDS)), min_size=2, max_size=5, unique=True))
    files = {name: _with_odd_values(SEEDS[name], name, data) for name in names}
    is_sane(check(dict(files)), "\n".join(files.values()))


@settings(max_examples=80, deadline=None)
@given(
    st.binary(max_size=300),
    st.sampled_from(["tools/x.tool.md", "agents/x.agent.md", "iam/x.iam.md", "x.yaml", "x.json"]),
)
def test_any_bytes_give_diagnostics(content: bytes, name: str) -> None:
    is_sane(check({name: content}), content)


def _with_odd_values(text: str, name: str, data: st.DataObject) -> str:
    if name.endswith(".json"):
        value = json.loads(text)
        _upset(value, data)
        return json.dumps(value, indent=1)
    front, body = split_front_matter(text) or (text, "") if name.endswith(".md") else (text, "")
    value = yaml.load(front, Loader=yaml.BaseLoader)
    _upset(value, data)
    dumped = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    return f"---\n{dumped}---\n{body}" if name.endswith(".md") else dumped


def _upset(root: Any, data: st.DataObject) -> None:
    """Change a few members of a value, anywhere in it."""
    for _ in range(data.draw(st.integers(1, 3))):
        containers = _containers(root)
        if not containers:
            return
        container = data.draw(st.sampled_from(containers))
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) and isinstance(container, dict):
            del container[key]
        else:
            container[key] = data.draw(values)


def _containers(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict | list) and value else []
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        found += _containers(member)
    return found
