"""The rules about AML agents and roles answer whatever stands in the files, and stay quick in a large workspace."""

from __future__ import annotations

import copy
import time
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.rule import RuleSettings, Subject
from ferrule.definitions.compiler.read import read
from ferrule.definitions.compiler.structure import check_structure
from ferrule.definitions.dialects.aml import DIALECT
from ferrule.definitions.rules.aml import agent, role
from ferrule.definitions.rules.aml.library import LIBRARY_RULES
from ferrule.definitions.rules.aml.pages import AGENT_PAGES
from ferrule.model.document import Document, Source
from ferrule.model.outline import AgentOutline, Library, Outline, RoleOutline, ToolOutline
from tests.definitions.rules.cases import HERE

SETTINGS = RuleSettings(today="2026-05-01")
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2.5,
    10**30,
    "",
    " ",
    "deny",
    "call",
    "disabled",
    [],
    {},
    [[]],
    [{}],
    {"ref": []},
)
odd_values = st.sampled_from(ODD) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ref", "refs", "access"]), inner),
    max_leaves=6,
)


def _base(name: str) -> Document:
    return read(Source(name, (HERE / "bases" / name).read_bytes()))[0]


AGENT, ROLE = _base("agents/support-agent.agent.md"), _base("iam/support-role.iam.md")
TOOLS: tuple[Outline, ...] = (
    ToolOutline(
        "tools/lookup-order.tool.md", "aml", "x", "lookup-order", "lookup-order", status="active", type="retrieval"
    ),
    ToolOutline("tools/send-email.tool.md", "aml", "x", "send-email", "send-email", status="draft", type="action"),
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, member in members for found in ((*path, key), *_paths(member, (*path, key)))]


AGENT_PATHS, ROLE_PATHS = _paths(AGENT.value), _paths(ROLE.value)


def _changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    changed = copy.deepcopy(value)
    inside = changed
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = new
    return changed


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _check(agent_value: Any, role_value: Any) -> set[str]:
    codes: set[str] = set()
    for document, value, rules in ((AGENT, agent_value, agent.RULES), (ROLE, role_value, role.RULES)):
        subject = Subject("any", document, value, SETTINGS)
        check_structure(subject, rules.rows)
        for rule in rules.rules:
            for finding in rule.check(subject):
                subject.report(finding)
        codes.update(finding.rule for finding in subject.findings)
    outlines = (
        AgentOutline("agents/a.agent.md", _text(agent_value.get("agent_id")), agent_value),
        RoleOutline("iam/r.iam.md", _text(role_value.get("iam_id")), role_value),
        *TOOLS,
    )
    library = Library(outlines, guardrails=frozenset({"pii-scan"}))
    return codes | {found.finding.rule for rule in LIBRARY_RULES for found in rule.check(library, SETTINGS)}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(AGENT_PATHS), odd_values, st.sampled_from(ROLE_PATHS), odd_values)
def test_any_value_anywhere_is_answered(
    agent_path: tuple[Any, ...], agent_new: Any, role_path: tuple[Any, ...], role_new: Any
) -> None:
    known = {page.code for page in AGENT_PAGES} | {"AML-1", "AML-8"}
    agent_value = _changed(AGENT.value, agent_path, agent_new)
    assert _check(agent_value, _changed(ROLE.value, role_path, role_new)) <= known


def test_a_number_of_any_size_can_be_stored() -> None:
    text = (HERE / "bases/agents/support-agent.agent.md").read_bytes().replace(b"0.2", b"1" + b"0" * 40)
    document = read(Source("agents/support-agent.agent.md", text))[0]
    (outline,) = DIALECT.outline(document, DIALECT.definitions(document)[0][0], "x")
    assert isinstance(outline, AgentOutline)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outline), type=AgentOutline) == outline


def test_every_page_says_why_and_shows_good_and_bad() -> None:
    for page in AGENT_PAGES:
        assert page.summary.endswith("."), page.code
        assert "Bad:" in page.details and "Good:" in page.details, page.code
    assert len({page.code for page in AGENT_PAGES}) == len(AGENT_PAGES)


def test_thousands_of_unresolved_references_stay_quick() -> None:
    tools = [
        ToolOutline(f"tools/t{i}.tool.md", "aml", "x", f"tool-{i}", f"tool-{i}", status="active") for i in range(1000)
    ]
    agents = [
        AgentOutline(f"agents/a{i}.agent.md", f"agent-{i}", {"tools": [{"ref": f"tol-{i}-{j}"} for j in range(5)]})
        for i in range(400)
    ]
    library = Library((*tools, *agents))
    started = time.process_time()
    found = [found for rule in LIBRARY_RULES for found in rule.check(library, SETTINGS)]
    assert len(found) == 2000
    assert time.process_time() - started < 5
