"""Legacy shapes are rewritten to today's: what they meant stays, and so does every line nobody had to change."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.fix import Fixers
from ferrule.contracts.registry import Registry
from ferrule.contracts.rule import RuleSettings
from ferrule.definitions.compiler.check import check_file, merge
from ferrule.definitions.compiler.fix import fix_text
from ferrule.definitions.compiler.read import read
from ferrule.definitions.rules.builtin import FIXERS
from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.document import Source
from ferrule.model.tool import Record, Tool
from ferrule.workspace.parts import dialects, load_parts
from tests.definitions.compiler.texts import damaged_texts

_fixers: Registry[Fixers] = Registry("dialect with fixes", FIXERS)
MOST = settings(max_examples=60, deadline=None)


def check_source(source: Source, *, compat: bool = False) -> list[Diagnostic]:
    return merge(check_file(source, load_parts(), RuleSettings(today="2026-01-31", compat=compat)), [])


def rules_of(name: str, text: str, *, compat: bool = False) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in check_source(Source(name, text.encode()), compat=compat)]


def fix_file(name: str, text: str, dialect: str, *, compat: bool = False) -> str:
    result = fix_text(
        Source(name, text.encode()),
        dialects.get(dialect),
        _fixers.get(dialect),
        lambda source: check_source(source, compat=compat),
    )
    return text if result is None else result.data.decode()


def compile_file(name: str, text: str, dialect: str) -> list[Tool | Record]:
    """Every tool and record of a text, as the model has it."""
    language = dialects.get(dialect)
    found: list[Tool | Record] = []
    for document in read(Source(name, text.encode())):
        for definition in language.definitions(document)[0]:
            compiled = language.compile(document, definition, "here")
            found += [*compiled.tools, *compiled.records]
    return found


# -- OXP


def test_a_catalog_of_a_later_draft_becomes_one_of_1_0() -> None:
    """OXP-49"""
    before = """\
{
  "$schema": "urn:oxp:1.1",
  "items": [
    {
      "id": "Clock.Now@1.0.0",
      "name": "Clock_Now",
      "description": "Tells the time.",
      "version": "1.0.0",
      "input_schema": {
        "type": "object",
        "properties": {
          "zone": {"type": "string", "description": "A zone"}
        }
      }
    },
    {"id": "Clock.Day@1.0.0", "name": "Clock_Day", "description": "Tells the day."}
  ]
}
"""
    after = """\
{
  "$schema": "urn:oxp:1.1",
  "tools": [
    {
      "id": "Clock.Now@1.0.0",
      "name": "Clock_Now",
      "description": "Tells the time.",
      "version": "1.0.0",
      "input_schema": {
        "parameters": {
          "type": "object",
          "properties": {
            "zone": {"type": "string", "description": "A zone"}
          }
        }
      },
      "output_schema": {}
    },
    {"id": "Clock.Day@1.0.0", "name": "Clock_Day", "description": "Tells the day.", "version": "1.0.0", \
"input_schema": {"parameters": {}}, "output_schema": {}}
  ]
}
"""
    assert fix_file("clock.json", before, "oxp") == after
    assert rules_of("clock.json", after) == []


NOW = '"id": "Clock.Now@1.0.0", "name": "Clock_Now", "description": "Tells.", "version": "1.0.0"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f'{{{NOW}, "input_schema": {{}}}}',
            f'{{{NOW}, "input_schema": {{"parameters": {{}}}}, "output_schema": {{}}}}',
        ),
        (
            f'{{{NOW},\r\n\t"input_schema" : {{\r\n\t\t"type": "object"\r\n\t}},\r\n\t"output_schema": null}}\r\n',
            f'{{{NOW},\r\n\t"input_schema" : {{\r\n\t\t"parameters" : {{\r\n\t\t\t"type": "object"\r\n\t\t}}\r\n\t}},'
            '\r\n\t"output_schema": null}\r\n',
        ),
        (
            f'\ufeff{{"\\u0069tems":[{{{NOW},"output_schema":{{}},"input\\u005fschema":{{"type":"object"}}}}]}}',
            f'\ufeff{{"tools":[{{{NOW},"output_schema":{{}},"input\\u005fschema":{{"parameters":{{"type":"object"}}}}}}]}}',
        ),
    ],
    ids=["absent", "tabs and line ends", "escapes and a mark"],
)
def test_json_keeps_its_layout(before: str, after: str) -> None:
    """OXP-49"""
    assert fix_file("clock.json", before, "oxp") == after


YAML = """\
# our clock
- id: &id Clock.Now@1.0.0   # never changes
  name: Clock_Now
  description: >
    Tells the time.
  version: 1.0.0
  # what goes in
  input_schema:   # of a later draft
    # an object
    type: object
    properties:
      zone: {type: string, description: "A zone"}

- {id: Clock.Day@1.0.0, name: Clock_Day, description: d, version: 1.0.0, output_schema: null, input_schema: {}}
"""
YAML_MENDED = """\
# our clock
- id: &id Clock.Now@1.0.0   # never changes
  name: Clock_Now
  description: >
    Tells the time.
  version: 1.0.0
  # what goes in
  input_schema:   # of a later draft
    parameters:
      # an object
      type: object
      properties:
        zone: {type: string, description: "A zone"}
  output_schema: {}

- {id: Clock.Day@1.0.0, name: Clock_Day, description: d, version: 1.0.0, output_schema: null, \
input_schema: {parameters: {}}}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_yaml_keeps_comments_and_layout(newline: str) -> None:
    """OXP-49"""
    before, after = YAML.replace("\n", newline), YAML_MENDED.replace("\n", newline)
    assert fix_file("clock.yaml", before, "oxp") == after
    assert rules_of("clock.yaml", after) == []


@pytest.mark.parametrize(
    "text",
    [
        f'{{{NOW}, "output_schema": null, "input_schema": {{"params": {{"type": "object"}}}}}}',
        f'{{{NOW}, "output_schema": null, "input_schema": {{"type": "string"}}}}',
        f'{{{NOW}, "output_schema": null, "name": "Again", "input_schema": {{}}}}',
        f'{{{NOW}, "output_schema": null, "input_schema": {{"type": "object", "properties": {{"a": {{}}, "b": {{}}}}}}}}',
    ],
    ids=["perhaps a misspelling", "no object", "a member twice", "errors would come to light"],
)
def test_what_is_not_certain_stays(text: str) -> None:
    assert fix_file("clock.json", text, "oxp") == text


def test_hidden_errors_are_no_obstacle_when_they_are_known() -> None:
    """OXP-49: in compatibility mode the schema was examined already."""
    text = f'{{{NOW}, "output_schema": null, "input_schema": {{"type": "object", "properties": {{"a": {{}}, "b": {{}}}}}}}}'
    assert '"input_schema": {"parameters": {"type"' in fix_file("clock.json", text, "oxp", compat=True)


def test_a_shared_schema_is_left_alone() -> None:
    text = YAML.replace("input_schema:   #", "input_schema: &schema  #").replace(
        "output_schema: null", "output_schema: *schema"
    )
    assert "parameters:\n" not in fix_file("clock.yaml", text, "oxp")


names = st.from_regex(r"[A-Z][a-z]{1,6}", fullmatch=True)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12)
described = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean"]), "description": words.map(lambda text: f"A {text}.")}
)
schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(words, described, max_size=3),
        "required": st.just([]),
        "additionalProperties": st.booleans(),
        "x-note": words,
    },
)


@st.composite
def legacy_tools(draw: st.DrawFn) -> dict[str, Any]:
    """An OXP definition in the shape of 1.0 or of a later draft."""
    toolkit, tool = draw(names), draw(names)
    value: dict[str, Any] = {"id": f"{toolkit}.{tool}@1.2.0", "name": f"{toolkit}_{tool}", "description": "Does it."}
    if draw(st.booleans()):
        value["version"] = "1.2.0"
    shape = draw(st.sampled_from(["direct", "wrapped", "absent"]))
    if shape != "absent":
        schema = draw(st.one_of(st.just({}), schemas))
        value["input_schema"] = schema if shape == "direct" else {"parameters": schema}
    if draw(st.booleans()):
        value["output_schema"] = draw(st.sampled_from([None, {}, {"type": "object"}]))
    keys = draw(st.permutations(list(value)))
    return {key: value[key] for key in keys}


class Written(NamedTuple):
    """A file as somebody might have written it."""

    name: str
    text: str
    is_spread: bool
    """Every scalar on a line of its own."""


@st.composite
def layouts(draw: st.DrawFn, value: Any) -> Written:
    """JSON or YAML in some layout, with either line end, perhaps with a byte order mark."""
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 2, 4, "\t", 0]))
        separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", " : ")]))
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
        return Written("tools.json", _ended(draw, text), indent is not None)
    is_flow = draw(st.booleans())
    steps = draw(st.sampled_from([2, 4]))
    text = yaml.safe_dump(
        value, sort_keys=False, allow_unicode=True, default_flow_style=is_flow, indent=steps, width=10_000
    )
    if draw(st.booleans()) and not is_flow:
        text = f"# ours\n{text}"
    return Written("tools.yaml", _ended(draw, text), not is_flow)


def _ended(draw: st.DrawFn, text: str) -> str:
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return ("\ufeff" if draw(st.booleans()) else "") + text


def assert_kept(before: Written, after: str, touched: tuple[str, ...] = ()) -> None:
    """Every line without a touched word is there still, in order, but for indentation, a comma, and brackets alone."""
    if before.is_spread:
        lines = [_plain(line) for line in before.text.split("\n") if not any(word in line for word in touched)]
        lines = [line for line in lines if line.strip("{}[]")]
        rest = iter([_plain(line) for line in after.split("\n")])
        lost = [line for line in lines if not any(line == other for other in rest)]
        assert lost == []


def _plain(line: str) -> str:
    return line.strip(" \t\r").removesuffix(",")


SENTINEL = {
    "id": "Quiet.Sentinel@1.0.0",
    "name": "Quiet_Sentinel",
    "description": "Sentinel: nobody touches this one.",
    "version": "1.0.0",
    "input_schema": {"parameters": {"type": "object", "properties": {"sentinel": {"description": "Sentinel."}}}},
    "output_schema": {"title": "Sentinel"},
}


@MOST
@given(st.data(), st.lists(legacy_tools(), min_size=2, max_size=3, unique_by=lambda tool: tool["id"]), st.booleans())
def test_property_later_drafts_are_rewritten_and_mean_the_same(
    data: st.DataObject, tools: list[dict[str, Any]], compat: bool
) -> None:
    """OXP-49: no hint is left, the tools are those that were read from the old shape, and other lines stay."""
    several = [tools[0], SENTINEL, *tools[1:]]
    value = data.draw(st.sampled_from([several, {"tools": several}, {"items": several}, tools[0]]))
    before = data.draw(layouts(value))
    after = fix_file(before.name, before.text, "oxp", compat=compat)
    left = rules_of(before.name, after, compat=compat)
    assert [found for found in left if found[0] in ("OXP-49", "OXP-1", "OXP-9")] == []
    old, new = compile_file(before.name, before.text, "oxp"), compile_file(before.name, after, "oxp")
    assert [_meant(tool) for tool in old] == [_meant(tool) for tool in new]
    assert_kept(before, after, ("items", "input_schema"))
    if before.is_spread:
        lines = [line for line in before.text.split("\n") if "entinel" in line]
        assert [line for line in after.split("\n") if "entinel" in line] == lines
    assert fix_file(before.name, after, "oxp", compat=compat) == after


def _meant(tool: Tool | Record) -> Tool | Record:
    """A tool without the words it was read from; no schema for output is any output."""
    assert isinstance(tool, Tool)
    output = None if tool.output_schema is None or bytes(tool.output_schema) == b"{}" else tool.output_schema
    return msgspec.structs.replace(tool, payload=msgspec.Raw(b"{}"), output_schema=output)


# -- Agent Tool

DECLARATION = {
    "schema_version": "0.1.1",
    "tool_id": "files.read",
    "namespace": "files",
    "name": "read",
    "title": "Read a file",
    "description": "Reads a file.",
    "lifecycle": "available",
    "tool_kind": "file_operation",
    "search_hint": "text of one file",
    "input_contract": {"schema": {"type": "object", "properties": {"schema": {"type": "string"}}}},
    "output_contract": {"structured_schema": {"type": "object"}},
    "external_mappings": [{"source": "openapi", "operationId": "readFile"}, {"source": "mcp", "server_name": "files"}],
}


def test_a_record_of_0_1_is_read_as_it_is_with_a_note() -> None:
    """AT-280: nothing is upgraded unless asked."""
    text = json.dumps(DECLARATION)
    found = check_source(Source("read.json", text.encode()))
    assert [(each.rule, each.severity, each.path) for each in found if each.rule == "AT-280"] == [
        ("AT-280", Severity.INFO, "schema_version"),
        ("AT-280", Severity.INFO, "input_contract.schema"),
    ]
    (tool,) = compile_file("read.json", text, "agent_tool")
    assert json.loads(bytes(tool.payload)) == DECLARATION
    assert isinstance(tool, Tool)
    assert json.loads(bytes(tool.input_schema)) == DECLARATION["input_contract"]["schema"]  # type: ignore[index]


def test_records_in_several_yaml_documents_are_brought_up_to_date() -> None:
    """AT-280, AT-281"""
    before = """schema_version: "0.1.0"  # first
surface_id: s
scope: peer-agent
---
# the second is of today
schema_version: 0.2.0
surface_id: t
scope: peer-agent
---
schema_version: '0.1.1'
permission_profile_id: p
risk_level: low
access_kinds: [file read, "code execution"]
write_effects:
  - none  # at all
"""
    after = (
        before.replace('"0.1.0"', '"0.2.0"')
        .replace("'0.1.1'", "'0.2.0'")
        .replace("scope: peer-agent", "scope: peer_agent", 1)
    )
    after = after.replace('[file read, "code execution"]', '[file_read, "code_execution"]')
    assert fix_file("records.yaml", before, "agent_tool") == after


def test_a_current_record_says_it_in_either_way() -> None:
    """AT-86, AT-264: spellings that are accepted are no reason for a note."""
    text = json.dumps(DECLARATION | {"schema_version": "0.2.0"})
    assert "AT-280" not in {rule for rule, _ in rules_of("read.json", text)}
    assert fix_file("read.json", text, "agent_tool") == text


@pytest.mark.parametrize("version", ["0.2", "v0.2.0", "0.2.x"])
def test_the_current_version_in_other_words_is_written_out(version: str) -> None:
    """AT-2"""
    text = json.dumps(DECLARATION | {"schema_version": version}, indent=1)
    assert fix_file("read.json", text, "agent_tool") == text.replace(f'"{version}"', '"0.2.0"')


def _upgraded(value: Any) -> Any:
    """What a declaration of 0.1.x is in 0.2.0."""
    value = json.loads(json.dumps(value))
    for record in (value, value.get("tool_interface", {}), value.get("permission_profile", {})):
        if "schema_version" in record:
            record["schema_version"] = "0.2.0"
    contract = value["input_contract"]
    if "schema" in contract and "model_input_schema" not in contract:
        contract["model_input_schema"] = contract.pop("schema")
    profile = value.get("permission_profile", {})
    if "access_kinds" in profile:
        profile["access_kinds"] = [word.replace(" ", "_") for word in profile["access_kinds"]]
    return value


versions = st.sampled_from(["0.1.0", "0.1.1", "0.1.12"])
extras = st.dictionaries(
    st.from_regex(r"x_[a-z]{1,5}", fullmatch=True), st.one_of(words, st.integers(), st.none()), max_size=2
)


@st.composite
def earlier_declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A declaration of 0.1.x with fields nobody knows, perhaps with records inside."""
    value = json.loads(json.dumps(DECLARATION)) | {"schema_version": draw(versions)} | draw(extras)
    value["input_contract"] |= draw(extras)
    if draw(st.booleans()):
        value["input_contract"]["model_input_schema"] = draw(schemas)
    if draw(st.booleans()):
        value["tool_interface"] = {"schema_version": draw(versions), "is_read_only": True} | draw(extras)
    if draw(st.booleans()):
        words = draw(st.lists(st.sampled_from(["file read", "file_write", "network"]), max_size=3))
        value["permission_profile"] = {"risk_level": "low", "access_kinds": words} | draw(extras)
    return {key: value[key] for key in draw(st.permutations(list(value)))}


@MOST
@given(st.data(), st.lists(earlier_declarations(), min_size=1, max_size=2))
def test_property_records_of_0_1_become_records_of_0_2(data: st.DataObject, records: list[dict[str, Any]]) -> None:
    """AT-278, AT-280, AT-281: identity, mappings, meaning and unknown fields stay."""
    value = data.draw(st.sampled_from([records, records[0]]))
    before = data.draw(layouts(value))
    after = fix_file(before.name, before.text, "agent_tool")
    assert "AT-280" not in {rule for rule, _ in rules_of(before.name, after)}
    old, new = compile_file(before.name, before.text, "agent_tool"), compile_file(before.name, after, "agent_tool")
    assert [_bare(tool) for tool in new] == [_bare(tool) for tool in old]
    assert [json.loads(bytes(tool.payload)) for tool in new] == [
        _upgraded(json.loads(bytes(tool.payload))) for tool in old
    ]
    assert_kept(before, after, ("schema_version", '"schema"', "schema:", "file read"))


def _bare(tool: Tool | Record) -> Tool | Record:
    return msgspec.structs.replace(tool, payload=msgspec.Raw(b"{}"))


# -- ADL

MANIFEST: dict[str, Any] = {
    "apiVersion": "adl.inference-gateway.com/v1",
    "kind": "Agent",
    "metadata": {"name": "desk", "description": "Helps.", "version": "1.0.0"},
    "spec": {
        "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False},
        "server": {"port": 8080},
        "language": {"go": {"module": "github.com/desk/desk", "version": "1.26"}},
        "tools": [
            {
                "id": "greet",
                "name": "greet",
                "description": "Greets somebody.",
                "tags": ["talk"],
                "schema": {"type": "object", "properties": {"who": {"type": "string"}}},
            }
        ],
    },
}


def test_superseded_blocks_move_with_their_comments() -> None:
    """ADL-6"""
    base = yaml.safe_dump(MANIFEST, sort_keys=False)
    old = """  # how we work
  sandbox:  # reproducible
    flox:
      enabled: true

  ai:
    enabled: true
    # the first
    claudecode:
      enabled: true
    codex: {enabled: false}  # not yet
"""
    new = """  # how we work
  development:  # reproducible
    sandbox:
      flox:
        enabled: true
    ai:
      # the first
      orchestrators:
        claudecode:
          enabled: true
        codex: {enabled: false}  # not yet

"""
    assert fix_file("agent.yaml", base.replace("  server:", f"{old}  server:"), "adl") == base.replace(
        "  server:", f"{new}  server:"
    )


@pytest.mark.parametrize(
    "block",
    [
        {"development": {"ai": {"enabled": True}}},
        {"development": {"ai": {"enabled": False, "orchestrators": {"codex": {"enabled": True}}}}},
        {"sandbox": {"flox": {"enabled": True}}, "development": {"sandbox": {"flox": {"enabled": False}}}},
        {"sandbox": "flox"},
        {"sandbox": {"flox": {"enabled": True}}, "development": None},
    ],
    ids=["which assistant", "off or on", "in both places", "no block", "nowhere to go"],
)
def test_what_a_person_must_decide_stays(block: dict[str, Any]) -> None:
    """ADL-6"""
    text = json.dumps(MANIFEST | {"spec": MANIFEST["spec"] | block}, indent=2)
    assert fix_file("agent.json", text, "adl") == text
    assert "ADL-6" in {rule for rule, _ in rules_of("agent.json", text)}


switches = st.fixed_dictionaries({"enabled": st.booleans()})
assistants = st.dictionaries(
    st.sampled_from(["claudecode", "codex", "gemini", "opencode", "infer"]), switches, min_size=1
)


@st.composite
def superseded_manifests(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A manifest in an earlier shape, and what it is today."""
    flat, nested, sandbox = draw(assistants), draw(assistants), {"flox": draw(switches)}
    flat = {name: block for name, block in flat.items() if name not in nested} or {}
    old_ai: dict[str, Any] = dict(flat)
    if draw(st.booleans()) and any(block["enabled"] for block in (*flat.values(), *nested.values())):
        old_ai["enabled"] = True
    today = dict(flat)
    if draw(st.booleans()):
        old_ai["orchestrators"] = nested
        today |= nested
    development: dict[str, Any] = draw(st.sampled_from([{}, {"deps": {}}]))
    spec, expected = {}, dict(development)
    if today:
        expected["ai"] = {"orchestrators": today}
        if draw(st.booleans()):
            spec["ai"] = old_ai
        else:
            development = development | {"ai": old_ai}
    if draw(st.booleans()):
        spec["sandbox"] = sandbox
        expected["sandbox"] = sandbox
    if development:
        spec["development"] = development
    members = [*MANIFEST["spec"].items(), *spec.items()]
    order = draw(st.permutations(members))
    new = MANIFEST["spec"] | ({"development": expected} if expected else {})
    return MANIFEST | {"spec": dict(order)}, MANIFEST | {"spec": new}


@MOST
@given(st.data(), superseded_manifests())
def test_property_manifests_of_earlier_shapes_are_rewritten(
    data: st.DataObject, manifests: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """ADL-6: no superseded block is left, and nothing else is different."""
    old, new = manifests
    before = data.draw(layouts(old))
    after = fix_file(before.name, before.text, "adl")
    assert read(Source(before.name, after.encode()))[0].value == new
    assert "ADL-6" not in {rule for rule, _ in rules_of(before.name, after)}
    assert_kept(Written(before.name, before.text, False), after)
    tools = [
        [each for each in compile_file(before.name, text, "adl") if isinstance(each, Tool)]
        for text in (before.text, after)
    ]
    assert tools[0] == tools[1]


# -- anything at all

HOSTILE = (
    ("oxp", "clock.yaml", YAML),
    ("oxp", "clock.json", json.dumps({"items": [{"id": "A.B@1.0.0", "name": "A_B", "description": "d"}]}, indent="\t")),
    ("agent_tool", "read.json", json.dumps([DECLARATION], indent=1)),
    ("agent_tool", "read.yaml", yaml.safe_dump(DECLARATION) + "---\n" + yaml.safe_dump(DECLARATION)),
    ("adl", "agent.yaml", yaml.safe_dump(MANIFEST) + "  ai: {enabled: true, codex: {enabled: true}}\n"),
)


@MOST
@given(st.data(), st.sampled_from(HOSTILE))
def test_property_damaged_files_are_never_made_worse(data: st.DataObject, base: tuple[str, str, str]) -> None:
    dialect, name, text = base
    before = data.draw(damaged_texts(text)).encode(errors="replace").decode()
    after = fix_file(name, before, dialect)
    assert _errors(name, after) <= _errors(name, before)
    assert after.count(" # ") >= before.count(" # ")
    assert fix_file(name, after, dialect) == after


def _errors(name: str, text: str) -> int:
    return sum(found.severity is Severity.ERROR for found in check_source(Source(name, text.encode())))
