"""A schema that is passed over gives no finding when it is looked at closely."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler.check import check_file
from ferrule.definitions.rules.aml import interface
from ferrule.definitions.rules.aml.unremarkable import is_unremarkable
from ferrule.model.document import Source
from ferrule.workspace.parts import parts
from tests.definitions.rules.cases import HERE

BASE = (HERE / "bases" / "tools" / "send-mail.tool.md").read_text(encoding="utf-8").split("---\n")[1]
SETTINGS = RuleSettings(today="2026-05-01")
_text = st.sampled_from(["Words.", "", " ", "x"])
_leaf = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "object", "array", "date", ["string", "null"], None, 3]),
        "description": st.one_of(_text, st.none(), st.integers()),
        "minLength": st.sampled_from([0, 1, 5, -1, 2.0, True, None]),
        "maxLength": st.sampled_from([0, 1, 5, -1]),
        "minimum": st.sampled_from([0, 9, 1.5, True, "1"]),
        "maximum": st.sampled_from([0, 9, 1.5]),
        "format": st.sampled_from(["email", "uri", "hostname", 1]),
        "enum": st.sampled_from([["a"], [], "a"]),
        "default": st.sampled_from(["a", 1, None]),
        "sensitive": st.booleans(),
        "pattern": st.sampled_from(["a", "["]),
        "$ref": st.just("#/x"),
    },
)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "description": _text,
            "properties": st.dictionaries(st.sampled_from(["a", "b", "transfer", "type", "$ref"]), inner, max_size=3),
            "required": st.one_of(st.lists(st.sampled_from(["a", "b", "c", 1]), max_size=3), st.just("a")),
            "additionalProperties": st.one_of(st.booleans(), inner, st.just("no")),
            "items": st.one_of(inner, st.lists(inner, max_size=2)),
            "anyOf": st.lists(inner, max_size=2),
        },
    )


schemas = st.recursive(_leaf, _wider, max_leaves=6)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=schemas)
def test_passing_over_unremarkable_schemas_changes_nothing(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    definition = yaml.load(BASE, Loader=yaml.BaseLoader)
    definition["interface"] = {"input": schema, "output": {"type": "object", "properties": {"x": schema}}}
    definition.pop("transport", None)
    text = f"---\n{yaml.safe_dump(definition, sort_keys=False)}---\n"
    source = Source("send-mail.tool.md", text.encode())
    monkeypatch.setattr(interface, "is_unremarkable", is_unremarkable)
    quick = check_file(source, parts(), SETTINGS).diagnostics
    monkeypatch.setattr(interface, "is_unremarkable", lambda schema: False)
    close = check_file(source, parts(), SETTINGS).diagnostics
    assert sorted(quick, key=lambda found: found.order) == sorted(close, key=lambda found: found.order)
