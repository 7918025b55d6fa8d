"""Canonical tools of all kinds, to be written in every format."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ferrule.model.tool import FACT_NAMES, LIFECYCLES, TOOL_KINDS, SafetyFacts, Tool, raw

WORDS = st.sampled_from(["order", "größe", "a.b", "with space", "x" * 70, "3d", "status", "refund_order", "état"])
TEXTS = st.text(max_size=40) | st.sampled_from(["Says hello.", "Give an order's state.\nTwo lines.", ""])
NAMES = st.builds("_".join, st.lists(WORDS, min_size=1, max_size=3))
LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "format": "date", "description": "A day."},
        {"type": "string", "pattern": "^[a-z]+$", "minLength": 1},
        {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        {"type": ["number", "null"]},
        {"type": "boolean", "title": "Yes or no"},
        {"enum": ["a", "b", 3]},
        {"const": "fixed"},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"$ref": "#/$defs/thing"},
        {},
    ]
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(lambda items: {"type": "array", "items": items, "uniqueItems": True}, inner),
        st.builds(lambda members: {"anyOf": members}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda members: {"oneOf": members}, st.lists(inner, min_size=1, max_size=2)),
        objects(inner),
    )


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of objects."""
    return st.builds(
        lambda members, required, closed: {
            "type": "object",
            "properties": members,
            **({"required": sorted(members)[:required]} if required else {}),
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(st.sampled_from(["a", "b", "when", "größe", "x y", "type"]), inner, max_size=3),
        st.integers(0, 2),
        st.booleans(),
    )


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "$defs": {"thing": {"type": "string", "maxLength": 5}}} if "$ref" in repr(schema) else schema


SCHEMAS: st.SearchStrategy[dict[str, Any]] = (
    objects(st.recursive(LEAVES, _nested, max_leaves=6)).map(_rooted) | st.just({}) | st.just({"type": "object"})
)
FACTS = st.builds(
    SafetyFacts,
    is_read_only=st.booleans(),
    is_destructive=st.booleans(),
    is_open_world=st.booleans(),
    requires_user_interaction=st.booleans(),
    strict=st.booleans(),
)
PAYLOADS = st.sampled_from(
    [
        (
            "aml",
            {"use_guidance": {"use_when": ["somebody asks"], "avoid_when": ["never"]}, "transport": {"type": "mcp"}},
        ),
        ("aml", {"x-other": 1}),
        ("agent_tool", {"annotations": {"a": 1}, "input_contract": {"examples": [{"a": "x"}, {}]}}),
        ("oxp", {"x-foo": True}),
        ("python", {"idempotent": True}),
    ]
)


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    """Any tool that a model may call."""
    name, namespace = draw(NAMES), draw(st.sampled_from(["", "shop", "crm"]))
    dialect, payload = draw(PAYLOADS)
    return Tool(
        tool_id=draw(st.sampled_from([name, f"{namespace}.{name}", f"{namespace}:{name}:1"])),
        namespace=namespace,
        name=name,
        description=draw(TEXTS),
        lifecycle=draw(st.sampled_from(LIFECYCLES)),
        tool_kind=draw(st.sampled_from(TOOL_KINDS)),
        dialect=dialect,
        version=draw(st.none() | st.just("1.2.0")),
        title=draw(st.none() | st.just("A title")),
        aliases=draw(st.just(()) | st.just(("other",))),
        tags=draw(st.just(()) | st.just(("a", "b"))),
        owner=draw(st.none() | st.just("us")),
        input_schema=raw(draw(SCHEMAS)),
        output_schema=draw(st.none() | SCHEMAS.map(raw)),
        facts=draw(FACTS),
        inferred_facts=draw(st.lists(st.sampled_from(FACT_NAMES), unique=True).map(tuple)),
        approval_required=draw(st.booleans()),
        max_calls_per_run=draw(st.none() | st.integers(1, 5)),
        payload=raw(payload),
    )
