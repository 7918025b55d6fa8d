"""What a native payload says that the tool has no field for: where it really lives, and what it wants injected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.loss import EXTENSION
from ferrule.model.native_definition import entries_of, native_ref, native_refs
from tests.model.tools import a_tool

CARRIED = {"external_mappings": [{"source": "crm"}]}


@pytest.mark.parametrize(
    ("payload", "refs"),
    [
        (
            {"external_mappings": [{"source": "jira"}, "odd", {"source": "crm"}]},
            ({"source": "jira"}, {"source": "crm"}),
        ),
        ({EXTENSION: CARRIED}, ({"source": "crm"},)),
        ({"input_schema": {EXTENSION: CARRIED}}, ({"source": "crm"},)),
        (
            {"external_mappings": [], EXTENSION: CARRIED, "transport": {"tool_name": "n"}},
            ({"source": "mcp", "tool_name": "n"},),
        ),
        ({"tool_interface": {"native_ids": {"id": 5}}, "transport": {"tool_name": "n"}}, ({"id": 5},)),
        ({"transport": {"tool_name": "n", "url": "https://u:p@a.example"}}, ({"source": "mcp", "tool_name": "n"},)),
        ({"transport": {"tool_name": 5}}, ()),
        ({"transport": "rest"}, ()),
        ([], ()),
    ],
)
def test_the_first_place_that_names_a_tool_counts(payload: Any, refs: tuple[dict[str, Any], ...]) -> None:
    tool = a_tool(payload=payload)
    assert native_refs(tool) == refs
    assert native_ref(tool) == (refs[0] if refs else {})


def test_a_payload_that_is_no_json_names_nothing() -> None:
    assert native_refs(a_tool(payload={}, dialect="aml")) == ()
    assert native_refs(msgspec.structs.replace(a_tool(), payload=msgspec.Raw(b"{"))) == ()


@pytest.mark.parametrize(
    ("payload", "entries"),
    [
        ({"tool": {"inject": ["logger", 5, "db"]}}, ("logger", "db")),
        ({"tool": {"inject": "logger"}}, ()),
        ({"tool": []}, ()),
        ([], ()),
    ],
)
def test_an_adl_tool_says_what_is_injected(payload: Any, entries: tuple[str, ...]) -> None:
    assert entries_of(a_tool(payload=payload, dialect="adl")) == entries


def test_other_dialects_know_no_injection() -> None:
    assert entries_of(a_tool(payload={"tool": {"inject": ["logger"]}}, dialect="aml")) is None
