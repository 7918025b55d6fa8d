"""Each filter of a surface, with the list and the reason its tools end up with."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.surface import Provider
from ferrule.model.failure import BLOCK_CLASSES
from ferrule.model.tool import SafetyFacts, Tool, raw
from tests.runtime.surface.parts import Denying, Ready, a_tool, declared, request_of, standings, surface_of, view_of

AML_SECRET = raw({"scheme": "bearer-token", "source": "env", "name": "TOKEN"})

CASES: dict[str, tuple[Tool, dict[str, Any], dict[str, Any], tuple[str, str | None]]] = {
    "draft": (a_tool(lifecycle="draft"), {}, {}, ("excluded", "feature_disabled")),
    "disabled": (a_tool(lifecycle="disabled"), {}, {}, ("blocked", "feature_disabled")),
    "retired": (a_tool(lifecycle="retired"), {}, {}, ("excluded", "feature_disabled")),
    "unknown lifecycle": (a_tool(lifecycle="resting"), {}, {}, ("excluded", "feature_disabled")),
    "switched off": (a_tool(), {}, {"switched_off": {"acme.search"}}, ("blocked", "policy_blocked")),
    "not enabled": (declared(interface={"is_enabled": False}), {}, {}, ("excluded", "feature_disabled")),
    "enabled by an expression": (
        declared(interface={"is_enabled": "classifier:weekday"}), {}, {}, ("excluded", "feature_disabled"),
    ),
    "enabled by a text": (declared(interface={"is_enabled": "true"}), {}, {}, ("excluded", "feature_disabled")),
    "gate closed": (declared(interface={"feature_gate_refs": ["beta"]}), {}, {}, ("excluded", "feature_disabled")),
    "gate open": (
        declared(interface={"feature_gate_refs": ["beta"]}), {"features": frozenset({"beta"})}, {}, ("loaded", None),
    ),
    "gates unreadable": (declared(interface={"feature_gate_refs": "beta"}), {}, {}, ("excluded", "feature_disabled")),
    "input of an unknown dialect": (
        a_tool(dialect="aml", input_schema=raw({"$schema": "https://acme.test/mine", "type": "object"})), {}, {},
        ("blocked", "feature_disabled"),
    ),
    "input that refers to another document": (
        a_tool(dialect="adl", input_schema=raw({"type": "object", "properties": {"a": {"$ref": "https://acme.test/a"}}})),
        {}, {}, ("blocked", "feature_disabled"),
    ),
    "output that refers to another document": (
        a_tool(output_schema=raw({"$ref": "more.json#/a"})), {}, {}, ("blocked", "feature_disabled"),
    ),
    "input of a known dialect, with references of its own": (
        a_tool(
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
        a_tool(lifecycle="requires_setup"), {}, {"readiness": Ready(is_set_up=False)}, ("blocked", "setup_required"),
    ),
    "set up": (a_tool(lifecycle="requires_setup"), {}, {}, ("loaded", None)),
    "interface requires setup": (
        declared(interface={"requires_setup": True}), {}, {"readiness": None}, ("blocked", "setup_required"),
    ),
    "setup that fails for want of a credential": (
        a_tool(lifecycle="requires_setup", dialect="aml", credentials=AML_SECRET),
        {},
        {"readiness": Ready(missing={"TOKEN"}, is_set_up=False)},
        ("blocked", "credential_missing"),
    ),
    "credential missing": (
        a_tool(dialect="aml", credentials=AML_SECRET), {}, {"readiness": Ready(missing={"TOKEN"})},
        ("blocked", "credential_missing"),
    ),
    "nobody to ask for credentials": (
        a_tool(dialect="aml", credentials=AML_SECRET), {}, {"readiness": None}, ("blocked", "credential_missing"),
    ),
    "credential there": (a_tool(dialect="aml", credentials=AML_SECRET), {}, {}, ("loaded", None)),
    "no credential needed": (
        a_tool(dialect="aml", credentials=raw({"scheme": "none"})), {}, {"readiness": None}, ("loaded", None),
    ),
    "interface's credential missing": (
        declared(interface={"required_credentials": ["TOKEN"]}), {}, {"readiness": Ready(missing={"TOKEN"})},
        ("blocked", "credential_missing"),
    ),
    "OXP secret missing": (
        a_tool(dialect="oxp", credentials=raw({"secrets": [{"id": "KEY"}], "user_id": True})), {},
        {"readiness": Ready(missing={"KEY"})}, ("blocked", "credential_missing"),
    ),
    "OXP user id is the principal": (
        a_tool(dialect="oxp", credentials=raw({"user_id": True})), {}, {"readiness": None}, ("loaded", None),
    ),
    "ADL variable missing": (
        a_tool(dialect="adl", credentials=raw({"environment": ["DB"]})), {}, {"readiness": Ready(missing={"DB"})},
        ("blocked", "credential_missing"),
    ),
    "model lacks media": (
        declared(interface={"model_requirements": {"media": ["image"]}}),
        {"model_capabilities": {"media": ["text"]}}, {}, ("excluded", "model_unsupported"),
    ),
    "model has media": (
        declared(interface={"model_requirements": {"media": ["image"]}}),
        {"model_capabilities": {"media": ["text", "image"]}}, {}, ("loaded", None),
    ),
    "model cannot": (
        declared(interface={"model_requirements": {"strict_schemas": True}}),
        {"model_capabilities": {"strict_schemas": False}}, {}, ("excluded", "model_unsupported"),
    ),
    "what is not said of the model it can": (
        declared(interface={"model_requirements": {"strict_schemas": True}}), {}, {}, ("loaded", None),
    ),
    "a requirement nobody knows": (
        declared(interface={"model_requirements": {"telepathy": True}}), {}, {}, ("excluded", "model_unsupported"),
    ),
    "window too small": (
        declared(interface={"model_requirements": {"context": 9000}}), {"model_capabilities": {"context": 8000}}, {},
        ("excluded", "model_unsupported"),
    ),
    "agent inside an agent": (
        a_tool(tool_kind="peer_agent_tool"), {"is_subagent": True}, {}, ("excluded", "recursive_tool_forbidden"),
    ),
    "agent of an agent": (a_tool(tool_kind="peer_agent_tool"), {}, {}, ("loaded", None)),
    "needs a person, none there": (
        a_tool(facts=SafetyFacts(requires_user_interaction=True)), {"is_interactive": False}, {},
        ("excluded", "policy_blocked"),
    ),
    "browser without session": (a_tool(tool_kind="browser_action"), {}, {}, ("blocked", "setup_required")),
    "browser with session": (a_tool(tool_kind="browser_action"), {"has_browser": True}, {}, ("loaded", None)),
    "shell without sandbox": (
        a_tool(tool_kind="shell_command"), {"has_sandbox": False}, {}, ("excluded", "policy_blocked"),
    ),
    "denied by policy": (a_tool(), {}, {"engine": Denying("acme.search")}, ("excluded", "policy_blocked")),
    "policy breaks": (a_tool(), {}, {"engine": Denying(breaks_on="acme.search")}, ("excluded", "policy_blocked")),
    "nothing runs it": (a_tool(), {}, {"executors_can_run": lambda tool: False}, ("blocked", "feature_disabled")),
    "server still connecting": (
        a_tool(tool_kind="mcp_tool"), {}, {"readiness": Ready(providers={"acme.search": Provider("hub")})},
        ("deferred", "deferred_until_discovered"),
    ),
    "lifecycle deferred": (a_tool(lifecycle="deferred"), {}, {}, ("deferred", None)),
    "should defer": (declared(interface={"should_defer": True}), {}, {}, ("deferred", None)),
    "schema kept elsewhere": (declared(interface={"schema_visibility": "native_ref"}), {}, {}, ("deferred", None)),
    "schema internal": (declared(interface={"schema_visibility": "internal"}), {}, {}, ("deferred", None)),
    "always loaded": (
        declared(interface={"should_defer": True, "always_load": True}), {}, {}, ("loaded", None),
    ),
    "always loaded, says a text": (
        declared(interface={"should_defer": True, "always_load": "yes"}), {}, {}, ("deferred", None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_tool_stands_where_its_facts_put_it(case: str) -> None:
    """AT-11, AT-13, AT-14, AT-17, AT-36, AT-37, AT-54, AT-67, AT-68, AT-70: one filter each, with its reason."""
    tool, asked, circumstances, expected = CASES[case]
    surface = surface_of(view_of(tool), request_of(**asked), **circumstances)
    assert standings(surface)[tool.tool_id] == expected
    entry = surface.entries[tool.tool_id]
    if entry.standing in ("blocked", "excluded"):
        assert entry.reason in BLOCK_CLASSES  # AT-108: every reason has an error class
        assert entry.detail


def test_a_check_that_breaks_holds_the_tool_back() -> None:
    """AT-54: what cannot be found out counts against the tool, and says so."""

    class Broken(Ready):
        def is_switched_on(self, tool: Tool) -> bool:
            return False

        def is_set_up(self, tool: Tool) -> bool:
            raise OSError("the disk is gone")

        def provider(self, tool: Tool) -> Provider | None:
            raise OSError("the network is gone")

    surface = surface_of(view_of(a_tool("a", lifecycle="requires_setup"), a_tool("b")), readiness=Broken())
    assert standings(surface)["acme.a"] == ("blocked", "policy_blocked")
    assert "setup failed (OSError)" in surface.entries["acme.a"].detail
    assert surface.entries["acme.b"].loading_state == "unavailable"


def test_an_unreadable_interface_holds_the_tool_back() -> None:
    tool = a_tool(dialect="agent_tool", payload=raw({"tool_interface": "see elsewhere"}))
    assert standings(surface_of(view_of(tool)))["acme.search"] == ("excluded", "feature_disabled")


def test_the_off_switch_comes_before_every_other_question() -> None:
    """A tool that is switched off is told as switched off, and not probed any further."""

    class Asked(Ready):
        def missing_credentials(self, tool: Tool, names: Any) -> Any:
            raise AssertionError("asked about a tool that is off")

    tool = a_tool(dialect="aml", credentials=AML_SECRET)
    surface = surface_of(view_of(tool), switched_off={"acme.search": "ada"}, readiness=Asked())
    assert "ferrule enable acme.search" in surface.entries["acme.search"].detail
