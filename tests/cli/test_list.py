"""`ferrule list`: what it shows, how it filters, and what it says of files it cannot read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.run import ferrule


def test_list_filters(workspace: Path) -> None:
    def names(*options: str) -> list[str]:
        return [tool["name"] for tool in json.loads(ferrule("list", "--json", *options, folder=workspace).out)]

    assert names("--dialect", "aml") == ["find-customer", "send-reply"]
    assert names("--tag", "customers", "--tag", "write") == ["send-reply"]
    assert names("--kind", "retrieval", "--namespace", "tools-of-ours") == ["find-customer"]
    assert names("--lifecycle", "disabled") == []


def test_list_shows_tools_of_broken_files_too(broken: Path) -> None:
    ran = ferrule("list", folder=broken)
    assert ran.code == 0
    line = next(line for line in ran.out.split("\n") if "send-reply" in line)
    assert "ferrule check tools/send-reply.tool.md" in line


def test_list_names_the_files_it_cannot_read(workspace: Path) -> None:
    (workspace / "tools" / "send-reply.tool.md").write_text("---\ntool_id: [\n---\n")
    ran = ferrule("list", folder=workspace)
    assert ran.code == 0
    assert "\n4 tools" in ran.out
    assert ran.err.startswith("ferrule: tools/send-reply.tool.md cannot be read, so it is not listed")


def test_list_without_tools_tells_of_functions(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["functions.py"]\n')
    told = "no tools found; functions that no definition describes are not in this list\n"
    assert ferrule("list", folder=tmp_path).out == told


def test_list_counts_tools_and_says_what_it_does_not_count(workspace: Path) -> None:
    """`ferrule serve` counts functions as well, which only a running module shows."""
    last = ferrule("list", folder=workspace).out.split("\n")[-2]
    assert last == "5 tools; functions that no definition describes are not in this list"
    assert ferrule("list", "--dialect", "oxp", folder=workspace).out.endswith("\n1 tool\n")
    assert ferrule("list", "--namespace", "nobody", folder=workspace).out == "no tools found\n"
    text = next(
        file.read_text() for file in (workspace / "tools").glob("*.json") if "Text.Translate@" in file.read_text()
    )
    (workspace / "tools" / "newer.json").write_text(text.replace("1.0.0", "2.0.0"))
    assert ferrule("list", "--dialect", "oxp", folder=workspace).out.endswith("\n1 tool in 2 versions\n")


def test_list_lines_columns_up_and_cuts_nothing_in_a_pipe(workspace: Path) -> None:
    tool = workspace / "tools" / "send-reply.tool.md"
    tool.write_text(tool.read_text().replace("Sends an answer", "Sends 返信 " + "very " * 60 + "kindly an answer"))
    plain, coloured = (ferrule("list", folder=workspace, environment=more).out for more in ({}, {"FORCE_COLOR": "1"}))
    lines = plain.split("\n")
    assert "kindly an answer" in plain and "…" not in plain
    assert len({line.index(word) for line, word in zip(lines[1:3], ("function", "retrieval"), strict=True)}) == 1
    assert "\x1b[" not in plain
    assert re.sub(r"\x1b\[\d*m", "", coloured).split() == plain.split()
