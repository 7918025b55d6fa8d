"""Files of definitions in other dialects: layout, collisions, what is left out, and what `ferrule check` says of the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.content.extension import find_differences
from ferrule.errors import SettingsError
from ferrule.model.diagnostic import Severity
from ferrule.model.loss import EXTENSION
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import FACT_NAMES, Tool, raw
from ferrule.workspace.convert.convert import ConversionResult, convert
from ferrule.workspace.convert.natives import NATIVES
from ferrule.workspace.convert.sources import LoadedTools, load_tools
from ferrule.workspace.workspace import Workspace
from tests.definitions.rules.cases import HERE

BASES = HERE / "bases"
EVERY = [BASES / name for name in ("tools", "adl", "oxp", "agent_tool")]


def written(made: ConversionResult, folder: Path) -> Path:
    for name, data in made.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def to(target: str, loaded: LoadedTools, **options: Any) -> ConversionResult:
    return convert(loaded.tools, target, WriteOptions(**options))


def a_tool(tool_id: str, **fields: Any) -> Tool:
    usual: dict[str, Any] = {
        "namespace": "shop",
        "name": tool_id,
        "description": "Sends. Use it for mail.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "elsewhere",
        "inferred_facts": FACT_NAMES,
        "input_schema": raw({"type": "object"}),
    }
    return Tool(tool_id=tool_id, **usual | fields)


@pytest.mark.parametrize("target", ["adl", "oxp", "agent-tool"])
def test_results_pass_the_check(target: str, tmp_path: Path) -> None:
    """ADL-54: whole documents, no error and no warning that the sources did not have."""
    folder = written(to(target, load_tools(EVERY)), tmp_path / "out")
    found = [one for one in Workspace.open(folder).check().diagnostics if one.severity is not Severity.INFO]
    assert [one.message for one in found if one.rule != "OXP-10"] == []


def test_aml_files_pass_the_check_but_for_a_transport_nobody_knows(tmp_path: Path) -> None:
    """AML-37 is told for exactly the tools whose file has that error."""
    made = to("aml", load_tools(EVERY))
    folder = written(made, tmp_path / "out")
    errors = [one for one in Workspace.open(folder).check().diagnostics if one.severity is Severity.ERROR]
    assert {one.rule for one in errors} == {"AML-37"}
    assert len(errors) == sum(finding.rule == "AML-37" for finding in made.findings)


@pytest.mark.parametrize("target", list(NATIVES))
def test_every_tool_comes_back_from_files(target: str, tmp_path: Path) -> None:
    """AT-3, AT-257: through real files, with bodies and line numbers."""
    loaded = load_tools(EVERY, namespace="shop")
    again = load_tools([written(to(target, loaded), tmp_path / "out")], namespace="shop")
    assert not [loss for loss in to(target, loaded).losses if loss.is_final]
    by_id = {(one.tool.tool_id, one.tool.version): one.tool for one in again.tools}
    assert len(by_id) == len(loaded.tools)
    for one in loaded.tools:
        back = by_id[one.tool.tool_id, one.tool.version]
        assert find_differences(one.tool, back) == []
        assert back.dialect == one.tool.dialect
        mine, theirs = msgspec.json.decode(one.tool.payload), msgspec.json.decode(back.payload)
        theirs.pop(EXTENSION, None)
        assert mine == theirs or one.tool.dialect == "agent_tool"  # whose parts become records with ids


def test_ids_that_a_target_forbids_never_collide_and_come_back() -> None:
    """AT-3, AT-261: two tools are never one file, and the tool whose own id it is keeps it."""
    names = ["send-mail", "send mail", "Send.Mail", "send_mail", "SEND-MAIL", "send/mail", "x" * 90, "x" * 91, "é"]
    tools = [a_tool(name, version="1.0.0") for name in names]
    for target, format_ in NATIVES.items():
        made = format_.write(tools, WriteOptions())
        assert made.left_out == ()
        reading = format_.read(made.value, "", {})
        assert [one.tool.tool_id for one in reading.tools] == names, target
    files: Any = NATIVES["aml"].write(tools, WriteOptions()).value
    assert "send-mail.tool.md" in files and len(files) == len(names)


def test_ids_do_not_depend_on_the_order() -> None:
    tools = [a_tool(name) for name in ("a.b", "a b", "a-b")]
    one: Any = NATIVES["aml"].write(tools, WriteOptions()).value
    other: Any = NATIVES["aml"].write(tools[::-1], WriteOptions()).value
    assert one == dict(reversed(other.items()))


def test_versions_of_one_tool_stand_side_by_side() -> None:
    tools = [a_tool("send", version=version) for version in ("1.0.0", "1.1.0", None)]
    files: Any = NATIVES["aml"].write(tools, WriteOptions()).value
    assert list(files) == ["send.tool.md", "1.1.0/send.tool.md", "0.1.0/send.tool.md"]
    for format_ in NATIVES.values():
        value = format_.write(tools, WriteOptions()).value
        assert [one.tool.version for one in format_.read(value, "", {}).tools] == ["1.0.0", "1.1.0", None]


def test_the_same_tool_twice_is_left_out_once() -> None:
    for format_ in NATIVES.values():
        made = format_.write([a_tool("send"), a_tool("post"), a_tool("send")], WriteOptions())
        assert [finding.path for finding in made.left_out] == [("send",)]
        assert [one.tool.tool_id for one in format_.read(made.value, "", {}).tools] == ["send", "post"]


def test_a_tool_that_cannot_be_written_takes_no_other_with_it() -> None:
    broken = a_tool("broken", input_schema=msgspec.Raw(b"{no json"))
    for format_ in NATIVES.values():
        made = format_.write([broken, a_tool("send")], WriteOptions())
        assert [finding.path for finding in made.left_out] == [("broken",)]
        assert [one.tool.tool_id for one in format_.read(made.value, "", {}).tools] == ["send"]


def test_plain_files_have_no_key_of_ours() -> None:
    for target in NATIVES:
        made = to(target, load_tools(EVERY), is_plain=True)
        assert not any(EXTENSION.encode() in data for data in made.files.values())
        assert all(loss.is_final for loss in made.losses)


def test_losses_say_where_the_thing_was_said() -> None:
    loaded = load_tools([BASES / "tools" / "send-mail.tool.md", BASES / "oxp" / "weather.json"])
    places = {loss.field: loss.line for loss in to("adl", loaded).losses if loss.tool_id == "send-mail"}
    text = (BASES / "tools" / "send-mail.tool.md").read_text(encoding="utf-8").splitlines()
    for field, words in (("aml.transport", "transport:"), ("owner", "  owner:"), ("output_schema", "  output:")):
        assert text[places[field] - 1].startswith(words)
    assert all(
        loss.file.endswith("send-mail.tool.md") for loss in to("adl", loaded).losses if loss.tool_id == "send-mail"
    )


def test_references_are_written_out_and_recursion_is_left_open() -> None:
    """OXP-11, AML-26: the meaning stays where it can, and the schema itself comes back."""
    tree = {"type": "object", "properties": {"below": {"$ref": "#/$defs/tree"}}}
    flat = {"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}}, "$defs": {"city": {"enum": ["Kiel"]}}}
    deep = {"type": "object", "properties": {"root": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    tools = [a_tool("flat", input_schema=raw(flat)), a_tool("deep", input_schema=raw(deep))]
    value: Any = NATIVES["oxp"].write(tools, WriteOptions()).value
    parameters = [one["input_schema"]["parameters"]["properties"] for one in value["tools"]]
    assert parameters == [{"city": {"enum": ["Kiel"], "description": "city"}}, {"root": {"description": "root"}}]
    assert [one.tool.input_schema for one in NATIVES["oxp"].read(value, "", {}).tools] == [raw(flat), raw(deep)]


def test_credentials_are_named_where_a_target_has_names(tmp_path: Path) -> None:
    """OXP-16, AT-124: names of secrets and of who gives tokens; never where they are kept, never a value."""
    loaded = load_tools([BASES / "tools" / "send-mail.tool.md"])
    oxp = msgspec.json.decode(to("oxp", loaded, is_plain=True).files["tools.oxp.json"])
    assert oxp["tools"][0]["requirements"] == {"secrets": [{"id": "MAIL_TOKEN"}]}
    records = msgspec.json.decode(to("agent-tool", loaded, is_plain=True).files["tools.agent-tool.json"])
    assert records[3]["credential_refs"] == ["MAIL_TOKEN"]


def test_native_ids_stand_in_the_mappings_of_a_declaration() -> None:
    """AT-27, AT-257, AT-262, AT-263, AT-264: those of the source beside those it had, as they were spelt."""
    own = [{"source": "openapi", "operationId": "sendMail"}, {"source": "unheard-of", "server_name": "x"}]
    tool = a_tool("send", payload=raw({"external_mappings": own}))
    value: Any = NATIVES["agent-tool"].write([tool], WriteOptions()).value
    assert value[0]["external_mappings"] == [*own, {"source": "elsewhere", "tool_id": "send", "tool_name": "send"}]
    (back,) = NATIVES["agent-tool"].read(value, "", {}).tools
    assert native_refs(back.tool) == tuple(own)


def test_records_of_an_earlier_version_stay_of_it() -> None:
    """AT-280: no upgrade of the stored value unless asked."""
    value = {"schema_version": "0.1.1", "tool_id": "a", "namespace": "n", "name": "a", "description": "A.",
             "lifecycle": "available", "tool_kind": "function", "input_contract": {"schema": {"type": "object"}}}  # fmt: skip
    reading = NATIVES["agent-tool"].read([value], "", {})
    again: Any = NATIVES["agent-tool"].write([one.tool for one in reading.tools], WriteOptions()).value
    assert {record["schema_version"] for record in again} == {"0.1.1"}
    assert again[0]["input_contract"] == {"schema": {"type": "object"}}


def test_an_unknown_target_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="agent-tool"):
        convert([], "cobol", WriteOptions())
