"""Canonical tools for property tests: from real definitions of every dialect, and made up field by field.

`tools()` draws any of them, `definitions(dialect)` only those that a definition of a dialect gives. Names are nasty on purpose,
schemas have references, recursion, unions and formats, and every field is stated now and then.
"""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from ferrule.definitions.dialects.adl import compile_item
from ferrule.definitions.dialects.agent_tool import compile_declaration
from ferrule.definitions.dialects.aml import compile_tool
from ferrule.definitions.dialects.oxp import compile_definition
from ferrule.model.tool import (
    FACT_NAMES,
    LIFECYCLES,
    TOOL_KINDS,
    PromptExposure,
    ResourceExposure,
    SafetyFacts,
    Tool,
    infer_facts,
    raw,
)

DIALECTS = ("aml", "adl", "oxp", "agent_tool")

WORDS = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=10)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=24) | st.sampled_from(
    [
        "yes",
        "null",
        "~",
        "1.2",
        "0o14",
        "2026-01-01",
        "- a",
        "a: b",
        "#",
        "---",
        "&a",
        "Ein Satz. Noch einer.",
        "\u2028",
        "a\nb",
    ]
)
SAID = TEXTS.filter(lambda text: text.strip() != "")
NAMES = (
    st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=20)
    | st.sampled_from(
        ["read", "2fa", "send mail!", "a.b.c", "ünï-cödé", "x" * 130, "__", "A_B", "a-b", "class", "9", "a/b"]
    )
    | SAID
)
NAMESPACES = st.sampled_from(["shop", "Shop", "my shop", "shop-agent", "a.b", "größe"])
VERSIONS = st.sampled_from(["1.0.0", "0.1.0", "2.11.0", "1.0.0-rc.1", "v1", "2026-01-01"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.sampled_from([2**63 + 5, -(2**70), 1.5, 1e300, -0.25, 3.0])
    | TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
MEMBERS = (
    st.sampled_from(["id", "query", "when", "größe", "a/b", "a~b", "$ref", "items", "properties", "x y", "0"]) | WORDS
)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2, is_plain: bool = False) -> dict[str, Any]:
    """Any schema; a plain one refers to nothing."""
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "formatted", "any"]
    if depth > 0:
        kinds += ["object", "object", "array", "tuple", "anyOf", "oneOf", "allOf", "nullable", "not"]
    kind = draw(st.sampled_from(kinds))
    schema: dict[str, Any] = {}
    below = schemas(depth - 1, is_plain)
    match kind:
        case "enum":
            schema = {"enum": draw(st.lists(SCALARS, min_size=1, max_size=3))}
        case "const":
            schema = {"const": draw(VALUES)}
        case "formatted":
            schema = {"type": "string", "format": draw(st.sampled_from(["date-time", "email", "hostname", "binary"]))}
        case "object":
            schema = draw(objects(depth, is_plain))
        case "array":
            schema = {"type": "array", "items": draw(below), "maxItems": 3}
        case "tuple":
            schema = {"type": "array", "prefixItems": [draw(below), draw(below)]}
        case "anyOf" | "oneOf" | "allOf":
            schema = {kind: [draw(below), draw(below)]}
        case "nullable":
            schema = {"type": ["string", "null"], "minLength": 1}
        case "not":
            schema = {"not": draw(below)}
        case "integer" | "number":
            schema = {"type": kind, "minimum": draw(st.sampled_from([0, -1.5, 1e10])), "default": 3}
        case "any":
            schema = {}
        case _:
            schema = {"type": kind}
    if draw(st.booleans()):
        schema["description"] = draw(TEXTS)
    if draw(st.integers(0, 9)) == 0:
        schema["x-note"] = draw(VALUES)
    return schema


@st.composite
def objects(draw: st.DrawFn, depth: int = 2, is_plain: bool = False) -> dict[str, Any]:
    """A schema of an object."""
    members: dict[str, Any] = draw(st.dictionaries(MEMBERS, schemas(depth - 1, is_plain), max_size=3))
    schema: dict[str, Any] = {"type": "object", "properties": members}
    if draw(st.booleans()) and members:
        schema["required"] = [next(iter(members))]
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.sampled_from([True, False]))
    return schema


@st.composite
def referring(draw: st.DrawFn) -> dict[str, Any]:
    """A schema of an object with definitions that it refers to, one of them perhaps by itself."""
    schema = draw(objects(1))
    tree: dict[str, Any] = {"type": "object", "properties": {"label": {"type": "string"}}}
    if draw(st.booleans()):
        tree["properties"]["children"] = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    schema["properties"] = {**schema["properties"], "root": {"$ref": "#/$defs/tree", "description": "Where it begins"}}
    return {**schema, "$defs": {"tree": tree, "unused": draw(schemas(1))}}


def inputs() -> st.SearchStrategy[Any]:
    """Schemas of arguments, the usual kinds and the odd ones."""
    odd = st.sampled_from([{}, True, False, {"type": "string"}, {"type": ["object", "null"]}, {"anyOf": [{}, {}]}])
    return objects() | objects() | referring() | odd


def _sometimes(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def aml_tools(draw: st.DrawFn) -> Tool:
    """Tools of AML files."""
    value: dict[str, Any] = {
        "spec_version": "1.2",
        "tool_id": draw(st.from_regex(r"[a-z0-9_-]{3,20}", fullmatch=True)),
        "version": draw(st.sampled_from(["1.0.0", "0.2.10", "1.0.0-rc.1"])),
        "status": draw(st.sampled_from(["draft", "active", "deprecated", "disabled"])),
        "meta": {"name": draw(SAID), "description": draw(SAID), "owner": draw(SAID)},
        "type": draw(st.sampled_from(["retrieval", "action", "function", "human"])),
        "interface": {"input": draw(objects(is_plain=True)), "output": draw(objects(is_plain=True))},
        "use_guidance": {"use_when": [draw(SAID)], "avoid_when": [draw(SAID)]},
    }
    if draw(st.booleans()):
        value["meta"] |= {"tags": draw(st.lists(SAID, min_size=1, max_size=2)), "last_updated": "2026-03-01"}
    if draw(st.booleans()):
        value |= {"approval_required": draw(st.booleans()), "max_calls_per_run": draw(st.integers(1, 9))}
    if draw(st.booleans()):
        value |= {"log_args": "redacted", "data_classification": {"input_pii_risk": True}}
    if draw(st.booleans()):
        value["error_codes"] = {"404": {"meaning": "Not there.", "agent_action": draw(SAID)}}
    if value["type"] not in ("function", "human") or draw(st.booleans()):
        value["transport"] = draw(_transports())
    if draw(st.integers(0, 3)) == 0:
        value["x-ferrule"] = {"aliases": [draw(SAID)], "external_mappings": [{"source": "openapi", "operationId": "a"}]}
    return compile_tool(value, draw(NAMESPACES))


@st.composite
def _transports(draw: st.DrawFn) -> dict[str, Any]:
    credentials = draw(
        st.sampled_from(
            [
                {"scheme": "none"},
                {"scheme": "bearer-token", "source": "env", "name": "MAIL_TOKEN"},
                {"scheme": "api-key", "header": "X-Key", "source": "gcp_secret_manager", "project": "p", "secret": "s"},
                {"scheme": "oauth2", "provider": "aws", "function_id": "f", "scopes": ["mail"]},
            ]
        )
    )
    if draw(st.booleans()):
        return {"type": "mcp", "url": "https://mcp.example.com", "tool_name": draw(SAID), "credentials": credentials}
    return {
        "type": "rest-api",
        "base_url": "https://mail.example.com",
        "endpoint": "POST /send",
        "credentials": credentials,
        "x-headers": {"X-Note": draw(SAID)},
    }


@st.composite
def adl_tools(draw: st.DrawFn) -> Tool:
    """Tools of ADL manifests, built-in ones among them."""
    agent, version = draw(st.sampled_from(["shop-agent", "stock"])), draw(st.sampled_from(["1.0.0", "0.3.1"]))
    if draw(st.integers(0, 4)) == 0:
        item: dict[str, Any] = {"id": draw(st.sampled_from(["read", "bash", "fetch"]))}
        settings = {item["id"]: {"enabled": draw(st.booleans())}}
        return compile_item({"spec": {"config": {"tools": settings}}}, item, agent, version)
    identifier = draw(st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,12}", fullmatch=True))
    item = {
        "id": identifier,
        "name": draw(st.just(identifier) | SAID),
        "description": draw(SAID),
        "tags": draw(st.lists(SAID, min_size=1, max_size=2)),
        "schema": draw(objects() | referring()),
    }
    manifest: dict[str, Any] = {"spec": {}}
    if draw(st.booleans()):
        item["inject"] = ["logger", "mailer", "config.mail"]
        mailer = {"type": "client", "interface": "Mailer", "factory": "NewMailer", "description": "Sends mail"}
        manifest["spec"] |= {"services": {"mailer": mailer}, "config": {"mail": {"host": "${MAIL_HOST}"}}}
    return compile_item(manifest, item, agent, version)


@st.composite
def oxp_tools(draw: st.DrawFn) -> Tool:
    """Tools of OXP definitions."""
    part = st.from_regex(r"[A-Za-z0-9_]{1,10}", fullmatch=True)
    toolkit, short, version = draw(part), draw(part), draw(st.sampled_from(["1.0.0", "2.3.4"]))
    parameters = draw(objects(is_plain=True))
    parameters["properties"] = {k: {**one, "description": draw(SAID)} for k, one in parameters["properties"].items()}
    value: dict[str, Any] = {
        "id": f"{toolkit}.{short}@{version}",
        "name": draw(st.sampled_from([short, f"{toolkit}_{short}"])),
        "description": draw(SAID),
        "version": version,
        "input_schema": {"parameters": parameters},
        "output_schema": draw(st.none() | schemas(1, is_plain=True)),
    }
    if draw(st.booleans()):
        value["requirements"] = {
            "secrets": [{"id": "KEY"}],
            "authorization": [{"id": "g", "oauth2": {"scopes": ["a"]}}],
        }
    if draw(st.booleans()):
        value["input_schema"]["note"] = draw(VALUES)
    return compile_definition(value)


@st.composite
def agent_tool_tools(draw: st.DrawFn) -> Tool:
    """Tools of Agent Tool declarations, with or without the records that describe them."""
    value: dict[str, Any] = {
        "schema_version": draw(st.sampled_from(["0.2.0", "0.1.1"])),
        "tool_id": draw(SAID),
        "namespace": draw(NAMESPACES),
        "name": draw(NAMES),
        "description": draw(SAID),
        "lifecycle": draw(st.sampled_from(LIFECYCLES)),
        "tool_kind": draw(st.sampled_from(TOOL_KINDS)),
        "input_contract": {"model_input_schema": draw(objects() | referring())},
        "annotations": {"note": draw(VALUES)},
    }
    more: dict[str, Any] = {
        "title": draw(_sometimes(SAID)),
        "version": draw(_sometimes(VERSIONS)),
        "aliases": draw(_sometimes(st.lists(SAID, min_size=1, max_size=2))),
        "search_hint": draw(_sometimes(SAID)),
        "capability_refs": draw(_sometimes(st.just(["mail"]))),
        "output_contract": draw(_sometimes(objects().map(lambda schema: {"structured_schema": schema}))),
        "external_mappings": draw(
            _sometimes(st.just([{"source": "mcp", "server_name": "m"}, {"source": "other", "a": 1}]))
        ),
        "permission_profile": draw(
            _sometimes(st.just({"risk_level": "critical", "approval_required": True, "credential_refs": ["ssh"]}))
        ),
        "execution_profile": draw(_sometimes(st.just({"execution_kind": "shell", "sandbox_profile": "locked"}))),
    }
    if draw(st.booleans()):
        contract = {**value["input_contract"], "internal_only_fields": ["tenant"], "sensitive_fields": ["q"]}
        contract["runtime_input_schema"] = {"type": "object", "properties": {"tenant": {"type": "string"}}}
        value["input_contract"] = contract
    if draw(st.booleans()):
        more["tool_interface"] = {
            "name": "run",
            "is_read_only": "classifier:x",
            "is_destructive": True,
            "strict": False,
        }
    return compile_declaration(value | {key: one for key, one in more.items() if one is not None})


@st.composite
def made_up_tools(draw: st.DrawFn) -> Tool:
    """Tools that no definition here gives: of a dialect without files, with anything in any field."""
    stated = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "is_read_only": st.booleans() | st.just("classifier:reads"),
                "is_concurrency_safe": st.booleans(),
                "is_destructive": st.booleans(),
                "is_open_world": st.booleans(),
                "requires_user_interaction": st.booleans(),
                "strict": st.booleans(),
                "interrupt_behavior": st.sampled_from(["cancel", "block"]),
                "classifier_input": TEXTS,
            },
        )
    )
    facts, unstated = infer_facts(stated)
    name = draw(NAMES)
    return Tool(
        tool_id=draw(st.just(f"shop.{name}") | SAID),
        namespace=draw(NAMESPACES),
        name=name,
        description=draw(TEXTS),
        lifecycle=draw(st.sampled_from(LIFECYCLES)),
        tool_kind=draw(st.sampled_from(TOOL_KINDS)),
        dialect=draw(st.sampled_from(["python", "elsewhere"])),
        version=draw(_sometimes(VERSIONS)),
        title=draw(_sometimes(TEXTS)),
        aliases=tuple(draw(st.lists(SAID, max_size=2))),
        search_hint=draw(_sometimes(SAID)),
        tags=tuple(draw(st.lists(SAID, max_size=2))),
        owner=draw(_sometimes(SAID)),
        capability_refs=tuple(draw(st.lists(SAID, max_size=1))),
        input_schema=raw(draw(inputs())),
        runtime_input_schema=draw(_sometimes(objects(1).map(raw))),
        output_schema=draw(_sometimes(inputs().map(raw))),
        facts=facts if stated else SafetyFacts(),
        inferred_facts=unstated if stated else FACT_NAMES,
        approval_required=draw(st.booleans()),
        max_calls_per_run=draw(_sometimes(st.integers(1, 9))),
        credentials=draw(_sometimes(st.just(raw({"environment": ["MAIL_KEY"]})))),
        payload=raw({"idempotent": True, "note": draw(VALUES)}),
        exposed_as=draw(_sometimes(st.sampled_from([ResourceExposure(uri="a://b", size=3), PromptExposure()]))),
    )


_DEFINED = {"aml": aml_tools, "adl": adl_tools, "oxp": oxp_tools, "agent_tool": agent_tool_tools}


def definitions(dialect: str) -> st.SearchStrategy[Tool]:
    """Tools that definitions of a dialect give."""
    return _DEFINED[dialect]()


def tools() -> st.SearchStrategy[Tool]:
    """Any tool."""
    return st.one_of(aml_tools(), adl_tools(), oxp_tools(), agent_tool_tools(), made_up_tools())
