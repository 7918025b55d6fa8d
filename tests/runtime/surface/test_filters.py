"""Each filter of a surface, with the list and the reason its tools end up with."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.surface import Provider
from ferrule.model.failure import BLOCK_CLASSES
from ferrule.model.tool import SafetyFacts, Tool, raw
from tests.runtime.surface.surfaces import (
    DenyingPolicy,
    FakeReadiness,
    list_standings,
    make_declared_tool,
    make_request,
    make_surface,
    make_tool,
    make_view,
)

AML_SECRET = raw({"scheme": "bearer-token", "source": "env", "name": "TOKEN"})

CASES: dict[str, tuple[Tool, dict[str, Any], dict[str, Any], tuple[str, str | None]]] = {
    "draft": (make_tool(lifecycle="draft"), {}, {}, ("excluded", "feature_disabled")),
    "disabled": (make_tool(lifecycle="disabled"), {}, {}, ("blocked", "feature_disabled")),
    "retired": (make_tool(lifecycle="retired"), {}, {}, ("excluded", "feature_disabled")),
    "unknown lifecycle": (make_tool(lifecycle="resting"), {}, {}, ("excluded", "feature_disabled")),
    "switched off": (make_tool(), {}, {"switched_off": {"acme.search"}}, ("blocked", "policy_blocked")),
    "not enabled": (make_declared_tool(interface={"is_enabled": False}), {}, {}, ("excluded", "feature_disabled")),
    "enabled by an expression": (
        make_declared_tool(interface={"is_enabled": "classifier:weekday"}), {}, {}, ("excluded", "feature_disabled"),
    ),
    "enabled by a text": (make_declared_tool(interface={"is_enabled": "true"}), {}, {}, ("excluded", "feature_disabled")),
    "gate closed": (make_declared_tool(interface={"feature_gate_refs": ["beta"]}), {}, {}, ("excluded", "feature_disabled")),
    "gate open": (
        make_declared_tool(interface={"feature_gate_refs": ["beta"]}), {"features": frozenset({"beta"})}, {}, ("loaded", None),
    ),
    "gates unreadable": (make_declared_tool(interface={"feature_gate_refs": "beta"}), {}, {}, ("excluded", "feature_disabled")),
    "input of an unknown dialect": (
        make_tool(dialect="aml", input_schema=raw({"$schema": "https://acme.test/mine", "type": "object"})), {}, {},
        ("blocked", "feature_disabled"),
    ),
    "input that refers to another document": (
        make_tool(dialect="adl", input_schema=raw({"type": "object", "properties": {"a": {"$ref": "https://acme.test/a"}}})),
        {}, {}, ("blocked", "feature_disabled"),
    ),
    "output that refers to another document": (
        make_tool(output_schema=raw({"$ref": "more.json#/a"})), {}, {}, ("blocked", "feature_disabled"),
    ),
    "input of a known dialect, with references of its own": (
        make_tool(
            input_schema=raw(
                {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "$ref": "inner",
                    "$defs": {"one": {"$id": "inner", "type": "object"}, "two": {"$ref": "#/$defs/one"}},
                }
            )
        ),
        {}, {}, ("loaded", None),
    ),
    "requires setup": (
        make_tool(lifecycle="requires_setup"), {}, {"readiness": FakeReadiness(is_set_up=False)}, ("blocked", "setup_required"),
    ),
    "set up": (make_tool(lifecycle="requires_setup"), {}, {}, ("loaded", None)),
    "interface requires setup": (
        make_declared_tool(interface={"requires_setup": True}), {}, {"readiness": None}, ("blocked", "setup_required"),
    ),
    "setup that fails for want of a credential": (
        make_tool(lifecycle="requires_setup", dialect="aml", credentials=AML_SECRET),
        {},
        {"readiness": FakeReadiness(missing={"TOKEN"}, is_set_up=False)},
        ("blocked", "credential_missing"),
    ),
    "credential missing": (
        make_tool(dialect="aml", credentials=AML_SECRET), {}, {"readiness": FakeReadiness(missing={"TOKEN"})},
        ("blocked", "credential_missing"),
    ),
    "nobody to ask for credentials": (
        make_tool(dialect="aml", credentials=AML_SECRET), {}, {"readiness": None}, ("blocked", "credential_missing"),
    ),
    "credential there": (make_tool(dialect="aml", credentials=AML_SECRET), {}, {}, ("loaded", None)),
    "no credential needed": (
        make_tool(dialect="aml", credentials=raw({"scheme": "none"})), {}, {"readiness": None}, ("loaded", None),
    ),
    "interface's credential missing": (
        make_declared_tool(interface={"required_credentials": ["TOKEN"]}), {}, {"readiness": FakeReadiness(missing={"TOKEN"})},
        ("blocked", "credential_missing"),
    ),
    "OXP secret missing": (
        make_tool(dialect="oxp", credentials=raw({"secrets": [{"id": "KEY"}], "user_id": True})), {},
        {"readiness": FakeReadiness(missing={"KEY"})}, ("blocked", "credential_missing"),
    ),
    "OXP user id is the principal": (
        make_tool(dialect="oxp", credentials=raw({"user_id": True})), {}, {"readiness": None}, ("loaded", None),
    ),
    "ADL variable missing": (
        make_tool(dialect="adl", credentials=raw({"environment": ["DB"]})), {}, {"readiness": FakeReadiness(missing={"DB"})},
        ("blocked", "credential_missing"),
    ),
    "model lacks media": (
        make_declared_tool(interface={"model_requirements": {"media": ["image"]}}),
        {"model_capabilities": {"media": ["text"]}}, {}, ("excluded", "model_unsupported"),
    ),
    "model has media": (
        make_declared_tool(interface={"model_requirements": {"media": ["image"]}}),
        {"model_capabilities": {"media": ["text", "image"]}}, {}, ("loaded", None),
    ),
    "model cannot": (
        make_declared_tool(interface={"model_requirements": {"strict_schemas": True}}),
        {"model_capabilities": {"strict_schemas": False}}, {}, ("excluded", "model_unsupported"),
    ),
    "what is not said of the model it can": (
        make_declared_tool(interface={"model_requirements": {"strict_schemas": True}}), {}, {}, ("loaded", None),
    ),
    "a requirement nobody knows": (
        make_declared_tool(interface={"model_requirements": {"telepathy": True}}), {}, {}, ("excluded", "model_unsupported"),
    ),
    "window too small": (
        make_declared_tool(interface={"model_requirements": {"context": 9000}}), {"model_capabilities": {"context": 8000}}, {},
        ("excluded", "model_unsupported"),
    ),
    "agent inside an agent": (
        make_tool(tool_kind="peer_agent_tool"), {"is_subagent": True}, {}, ("excluded", "recursive_tool_forbidden"),
    ),
    "agent of an agent": (make_tool(tool_kind="peer_agent_tool"), {}, {}, ("loaded", None)),
    "needs a person, none there": (
        make_tool(facts=SafetyFacts(requires_user_interaction=True)), {"is_interactive": False}, {},
        ("excluded", "policy_blocked"),
    ),
    "browser without session": (make_tool(tool_kind="browser_action"), {}, {}, ("blocked", "setup_required")),
    "browser with session": (make_tool(tool_kind="browser_action"), {"has_browser": True}, {}, ("loaded", None)),
    "shell without sandbox": (
        make_tool(tool_kind="shell_command"), {"has_sandbox": False}, {}, ("excluded", "policy_blocked"),
    ),
    "denied by policy": (make_tool(), {}, {"engine": DenyingPolicy("acme.search")}, ("excluded", "policy_blocked")),
    "policy breaks": (make_tool(), {}, {"engine": DenyingPolicy(breaks_on="acme.search")}, ("excluded", "policy_blocked")),
    "nothing runs it": (make_tool(), {}, {"executors_can_run": lambda tool: False}, ("blocked", "feature_disabled")),
    "server still connecting": (
        make_tool(tool_kind="mcp_tool"), {}, {"readiness": FakeReadiness(providers={"acme.search": Provider("hub")})},
        ("deferred", "deferred_until_discovered"),
    ),
    "lifecycle deferred": (make_tool(lifecycle="deferred"), {}, {}, ("deferred", None)),
    "should defer": (make_declared_tool(interface={"should_defer": True}), {}, {}, ("deferred", None)),
    "schema kept elsewhere": (make_declared_tool(interface={"schema_visibility": "native_ref"}), {}, {}, ("deferred", None)),
    "schema internal": (make_declared_tool(interface={"schema_visibility": "internal"}), {}, {}, ("deferred", None)),
    "always loaded": (
        make_declared_tool(interface={"should_defer": True, "always_load": True}), {}, {}, ("loaded", None),
    ),
    "always loaded, says a text": (
        make_declared_tool(interface={"should_defer": True, "always_load": "yes"}), {}, {}, ("deferred", None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_tool_stands_where_its_facts_put_it(case: str) -> None:
    """AT-11, AT-13, AT-14, AT-17, AT-36, AT-37, AT-54, AT-67, AT-68, AT-70: one filter each, with its reason."""
    tool, asked, circumstances, expected = CASES[case]
    surface = make_surface(make_view(tool), make_request(**asked), **circumstances)
    assert list_standings(surface)[tool.tool_id] == expected
    entry = surface.entries[tool.tool_id]
    if entry.standing in ("blocked", "excluded"):
        assert entry.reason in BLOCK_CLASSES  # AT-108: every reason has an error class
        assert entry.detail


def test_a_check_that_breaks_holds_the_tool_back() -> None:
    """AT-54: what cannot be found out counts against the tool, and says so."""

    class Broken(FakeReadiness):
        def is_switched_on(self, tool: Tool) -> bool:
            return False

        def is_set_up(self, tool: Tool) -> bool:
            raise OSError("the disk is gone")

        def provider(self, tool: Tool) -> Provider | None:
            raise OSError("the network is gone")

    surface = make_surface(make_view(make_tool("a", lifecycle="requires_setup"), make_tool("b")), readiness=Broken())
    assert list_standings(surface)["acme.a"] == ("blocked", "policy_blocked")
    assert "setup failed (OSError)" in surface.entries["acme.a"].detail
    assert surface.entries["acme.b"].loading_state == "unavailable"


def test_an_unreadable_interface_holds_the_tool_back() -> None:
    tool = make_tool(dialect="agent_tool", payload=raw({"tool_interface": "see elsewhere"}))
    assert list_standings(make_surface(make_view(tool)))["acme.search"] == ("excluded", "feature_disabled")


def test_the_off_switch_comes_before_every_other_question() -> None:
    """A tool that is switched off is told as switched off, and not probed any further."""

    class Asked(FakeReadiness):
        def missing_credentials(self, tool: Tool, names: Any) -> Any:
            raise AssertionError("asked about a tool that is off")

    tool = make_tool(dialect="aml", credentials=AML_SECRET)
    surface = make_surface(make_view(tool), switched_off={"acme.search": "ada"}, readiness=Asked())
    assert "ferrule enable acme.search" in surface.entries["acme.search"].detail
