"""A tool joined with the Agent Tool records that describe it."""

from __future__ import annotations

from ferrule.definitions.content.linkage import apply_record
from tests.definitions.dialects.agent_records import DECLARATION, INTERFACE, compile_declaration


def test_embedded_and_linked_interfaces_state_the_same() -> None:
    embedded = compile_declaration(DECLARATION | {"tool_interface": INTERFACE})
    linked = compile_declaration([DECLARATION | {"interface_ref": "i1"}, INTERFACE])
    applied = apply_record(compile_declaration(DECLARATION), "interface", INTERFACE)
    for tool in (embedded, linked, applied):
        assert tool.facts.is_read_only == "classifier:shell"
        assert "is_destructive" not in tool.inferred_facts and "strict" in tool.inferred_facts
        assert tool.output_schema is not None


def test_permission_profile_asks_for_approval_and_names_credentials() -> None:
    tool = compile_declaration(
        DECLARATION | {"permission_profile": {"approval_required": True, "credential_refs": ["ssh"]}}
    )
    assert tool.approval_required
    assert tool.credentials is not None and bytes(tool.credentials) == b'["ssh"]'
