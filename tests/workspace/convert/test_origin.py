"""Which form of a converted tool counts: the earlier one, until somebody writes in words that only the new dialect has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.format import WriteOptions
from ferrule.model.loss import EXTENSION
from ferrule.workspace.convert.convert import ConversionResult, convert
from ferrule.workspace.convert.sources import LoadedTools, load_tools
from tests.definitions.rules.cases import HERE

BASES = HERE / "bases"


def written(made: ConversionResult, folder: Path) -> Path:
    for name, data in made.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def to(target: str, loaded: LoadedTools, **options: Any) -> ConversionResult:
    return convert(loaded.tools, target, WriteOptions(**options))


def test_what_somebody_writes_in_the_new_dialect_makes_it_the_tools_own(tmp_path: Path) -> None:
    """A transport in a converted file is not lost on the way to a third dialect, and the first form is still known."""
    made = to("aml", load_tools([BASES / "oxp" / "weather.json"]))
    (file,) = written(made, tmp_path).rglob("*.md")
    transport = (
        "transport: {type: mcp, url: 'https://mcp.example.com', tool_name: forecast, protocol_version: '2025-11-25', "
        "credentials: {scheme: none}}\n"
    )
    file.write_text(
        file.read_text(encoding="utf-8").replace("use_guidance:", transport + "use_guidance:"), encoding="utf-8"
    )
    (edited,) = load_tools([file]).tools
    assert edited.tool.dialect == "aml"
    assert "aml.transport" in {loss.field for loss in convert([edited], "agent-tool", WriteOptions()).losses}
    back = msgspec.json.decode(convert([edited], "oxp", WriteOptions(is_plain=True)).files["tools.oxp.json"])["tools"]
    first = msgspec.json.decode((BASES / "oxp" / "weather.json").read_bytes())
    del first["requirements"]  # what the transport says of credentials is newer
    assert back == [first]


def test_what_somebody_changes_between_is_kept(tmp_path: Path) -> None:
    made = to("agent-tool", load_tools([BASES / "tools" / "send-mail.tool.md"]))
    file = written(made, tmp_path) / "tools.agent-tool.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"title": "Send mail"', '"title": "Send a mail"'), encoding="utf-8")
    files = to("aml", load_tools([file])).files
    assert list(files) == ["send-mail.tool.md"]
    data = files["send-mail.tool.md"]
    assert (
        b"name: Send a mail\n" in data
        and b"base_url" in data
        and b"# Purpose" in data
        and EXTENSION.encode() not in data
    )
