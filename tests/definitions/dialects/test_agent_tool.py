"""Agent Tool: records recognised by content, embedded and linked facts applied, export complete and stable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.dialects.agent_tool import DIALECT, detect_kind
from ferrule.model.document import Source
from ferrule.model.tool import FACT_NAMES
from tests.definitions.dialects.agent_records import DECLARATION, INTERFACE, compile_declaration, document
from tests.definitions.dialects.emitting import emit_agent_tool
from tests.definitions.dialects.test_oxp import values

RECORDS: dict[str, dict[str, Any]] = {
    "declaration": DECLARATION,
    "interface": INTERFACE,
    "execution_profile": {"schema_version": "0.2.0", "execution_profile_id": "e1", "execution_kind": "shell"},
    "permission_profile": {"schema_version": "0.2.0", "permission_profile_id": "p1", "risk_level": "low"},
    "scheduler_policy": {
        "schema_version": "0.2.0",
        "scheduler_policy_id": "s1",
        "max_parallel": 2,
        "ordering_policy": "serial",
    },
    "surface": {"schema_version": "0.2.0", "surface_id": "s1", "scope": "turn", "loaded_tools": []},
}


@pytest.mark.parametrize("kind", RECORDS)
def test_records_are_recognised_whatever_required_field_is_missing(kind: str) -> None:
    record = RECORDS[kind]
    assert detect_kind(record) == kind
    for dropped in record:
        assert detect_kind({key: member for key, member in record.items() if key != dropped}) == kind, dropped


@pytest.mark.parametrize(
    "value",
    [
        {"schema_version": "0.2.0", "invocation_id": "i", "tool_id": "t", "status": "running", "surface_id": "s"},
        {"schema_version": "0.2.0", "decision_id": "d", "invocation_id": "i", "behavior": "deny"},
        {"schema_version": "0.2.0", "hook_id": "h", "hook_event": "pre_tool_use", "tool_id": "t"},
        {"schema_version": "0.2.0", "event_id": "e", "event_type": "tool.declared", "source": "x"},
        {"schema_version": "0.2.0", "tool_id": "t", "name": "n", "loading_state": "deferred"},
    ],
)
def test_records_of_running_calls_hold_no_definition(value: Any) -> None:
    text = document(value)
    assert DIALECT.detect(text)
    assert DIALECT.definitions(text) == ([], [])


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        [{}],
        {"schema_version": "1.0", "name": "x"},
        {"name": "x", "description": "y", "version": "1.0.0"},
        {"id": "A.B@1.0.0", "name": "A_B", "description": "x", "version": "1.0.0", "input_schema": {}},
        {"tool_id": "A.B@1.0.0", "call_id": "1"},
        {"spec_version": "1.2", "tool_id": "send-mail", "namespace": "x", "title": "y"},
        {"scope": "turn", "name": "x"},
    ],
)
def test_other_json_is_not_claimed(value: Any) -> None:
    text = document(value)
    assert not DIALECT.detect(text)
    assert not DIALECT.claims_name(text.source)


def test_a_broken_text_is_known_by_its_words() -> None:
    assert DIALECT.claims_name(Source("a.json", json.dumps(DECLARATION)[:-1].encode()))
    assert DIALECT.claims_name(Source("a.yaml", b'schema_version: "0.2.0\ninterface_id: x\n'))
    assert not DIALECT.claims_name(Source("a.yaml", b"kind: Agent\n"))


def test_unstated_facts_are_fail_closed_and_inferred() -> None:
    tool = compile_declaration(DECLARATION)
    assert tool.inferred_facts == FACT_NAMES
    assert (tool.facts.is_read_only, tool.facts.is_open_world, tool.facts.interrupt_behavior) == (False, True, "block")
    closed = compile_declaration(DECLARATION | {"tool_kind": "file_operation"})
    assert closed.facts.is_open_world is False and "is_open_world" in closed.inferred_facts


def test_annotations_relax_nothing() -> None:
    tool = compile_declaration(DECLARATION | {"annotations": {"is_read_only": True, "readOnlyHint": True}})
    assert tool.facts.is_read_only is False


extras = st.dictionaries(st.text(min_size=1, max_size=6).map("x_".__add__), values, max_size=2)


@given(extras, extras, extras, extras, st.booleans())
def test_parse_emit_parse_is_stable_and_keeps_unknown_fields(
    one: dict[str, Any], two: dict[str, Any], three: dict[str, Any], four: dict[str, Any], is_embedded: bool
) -> None:
    declaration = DECLARATION | one | {"input_contract": DECLARATION["input_contract"] | four}
    interface, profile = INTERFACE | two, RECORDS["permission_profile"] | three
    if is_embedded:
        value: Any = declaration | {"tool_interface": interface, "permission_profile": profile}
    else:
        value = [declaration | {"interface_ref": "i1", "permission_profile_ref": "p1"}, interface, profile]
    emitted: Any = emit_agent_tool(compile_declaration(value)).value
    assert emit_agent_tool(compile_declaration(emitted)).value == emitted
    by_kind = {detect_kind(record): record for record in emitted}
    kinds = ("declaration", "interface", "permission_profile")
    for kind, unknown in zip(kinds, (one, two, three), strict=True):
        assert by_kind[kind] | unknown == by_kind[kind]
    assert emitted[0]["input_contract"] | four == emitted[0]["input_contract"]
    first, again = compile_declaration(value), compile_declaration(emitted)
    assert (first.facts, first.inferred_facts, first.input_schema) == (
        again.facts,
        again.inferred_facts,
        again.input_schema,
    )
