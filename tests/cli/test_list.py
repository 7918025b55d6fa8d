"""`ferrule rule`, `list`, `show` and `completion`."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.workspace.parts import rule_pages
from tests.cli.run import ferrule


def test_rule_prints_a_page_by_code_or_name(tmp_path: Path) -> None:
    ran = ferrule("rule", "fer-4", folder=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("FER-4 unexplained-suppression (warning")
    assert "# ferrule: ignore[FER-4]" in ran.out
    assert ferrule("rule", "unexplained-suppression", folder=tmp_path).out == ran.out


def test_rule_lists_all_by_standard(tmp_path: Path) -> None:
    listed = ferrule("rule", folder=tmp_path).out
    assert all(f"  {page.code} " in listed for page in rule_pages())
    as_json = json.loads(ferrule("rule", "--json", folder=tmp_path).out)
    assert [rule["code"] for rule in as_json] == [page.code for page in rule_pages()]


def test_rule_names_each_standard_once_and_lists_one_by_its_prefix(tmp_path: Path) -> None:
    headings = [line for line in ferrule("rule", folder=tmp_path).out.split("\n") if line and not line.startswith(" ")]
    assert [heading.split(" ")[0] for heading in headings[:-1]] == ["AML", "ADL", "OXP", "Agent", "Ferrule"]
    rows = [line.split()[0] for line in ferrule("rule", "oxp", folder=tmp_path).out.split("\n") if line[:2] == "  "]
    numbers = [int(code.removeprefix("OXP-")) for code in rows]
    assert numbers == sorted(numbers)
    assert len(numbers) == sum(page.code.startswith("OXP-") for page in rule_pages())


def test_an_unknown_rule_gets_the_nearest(tmp_path: Path) -> None:
    ran = ferrule("rule", "FER-44", folder=tmp_path)
    assert ran.code == 2
    assert "did you mean 'FER-4'?" in ran.err


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


def test_show_marks_what_was_inferred_and_names_the_users(workspace: Path) -> None:
    ran = ferrule("show", "send-reply", folder=workspace)
    assert ran.code == 0
    assert ran.out.startswith("send-reply@1.0.0\nSend reply\n")
    assert "tools/send-reply.tool.md:1" in ran.out
    assert "(inferred)" in ran.out
    lines = [line.strip() for line in ran.out.split("\n")]
    assert "agents      support (approval required)" in lines
    assert "roles       support-role (approval required, at most 3 a run)" in lines
    assert "subject*: string, at most 120 characters. Subject line." in lines


def test_show_tells_where_a_tool_lives(workspace: Path) -> None:
    told = ferrule("show", "find-customer", folder=workspace).out
    assert "behind it   rest-api https://crm.example.com/v1 GET /customers/{email}" in told
    assert "behind it" not in ferrule("show", "Text.Translate", folder=workspace).out


def test_show_json_holds_the_tool(workspace: Path) -> None:
    shown = json.loads(ferrule("show", "find-customer@1.0.0", "--json", folder=workspace).out)
    assert shown["tool"]["tool_kind"] == "retrieval"
    assert [use["name"] for use in shown["agents"]] == ["support"]


def test_show_knows_what_the_interface_of_a_tool_says_in_another_file(tmp_path: Path) -> None:
    """AT-51: a stated fact is not told to be inferred, wherever it is stated."""
    tool = {
        "schema_version": "0.2.0", "tool_id": "find", "namespace": "shop", "name": "find", "title": "Find", "description":
        "Find an order.", "lifecycle": "available", "tool_kind": "function", "interface_ref": "tool_interface:find",
        "input_contract": {"model_input_schema": {"type": "object"}},
    }  # fmt: skip
    interface = {"schema_version": "0.2.0", "interface_id": "find", "tool_id": "find", "is_read_only": True}
    (tmp_path / "ferrule.toml").touch()
    (tmp_path / "find.json").write_text(json.dumps(tool))
    (tmp_path / "interface.json").write_text(json.dumps(interface))
    shown = json.loads(ferrule("show", "find", "--json", folder=tmp_path).out)["tool"]
    assert shown["facts"] == {"is_read_only": True}
    assert "is_read_only" not in shown["inferred_facts"]
    assert "is_destructive" in shown["inferred_facts"]


def test_show_of_a_broken_tool_says_where_to_look(broken: Path) -> None:
    ran = ferrule("show", "send-reply", folder=broken)
    assert ran.code == 1
    assert "ferrule check tools/send-reply.tool.md" in ran.out


def test_an_unknown_tool_gets_the_nearest(workspace: Path) -> None:
    ran = ferrule("show", "send-replay", folder=workspace)
    assert ran.code == 2
    assert "did you mean 'send-reply'?" in ran.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str, tmp_path: Path) -> None:
    ran = ferrule("completion", shell, folder=tmp_path)
    assert ran.code == 0
    assert f"_FERRULE_COMPLETE={shell}_complete" in ran.out


def offered(folder: Path, words: str) -> list[str]:
    """What a shell is told to offer."""
    ran = ferrule(
        folder=folder,
        environment={
            "_FERRULE_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
    )
    assert (ran.code, ran.err) == (0, "")
    return [answer.partition(",")[2] for answer in ran.out.split()]


def test_completion_completes_commands_options_rules_and_tools(workspace: Path) -> None:
    assert offered(workspace, "ferrule ch") == ["check"]
    assert "--format" in offered(workspace, "ferrule check --f")
    assert offered(workspace, "ferrule check --format sa") == ["sarif"]
    assert "FER-4" in offered(workspace, "ferrule rule FER")
    for words in ("show", "call", "disable", "enable", "policy explain"):
        assert offered(workspace, f"ferrule {words} send") == ["send-reply"], words


def test_completion_completes_the_ids_of_calls(workspace: Path) -> None:
    (workspace / "policy.toml").write_text(
        '[[rules]]\nid = "look"\ndecision = "allow"\ntool = "find-customer"\n'
        '[[rules]]\nid = "ask"\ndecision = "ask"\ntool = "send-reply"\n'
    )
    reply = {"to": "a@example.com", "subject": "s", "body": "b"}
    ferrule("call", "find-customer", "--email", "a@example.com", folder=workspace)
    ferrule("call", "send-reply", "--input", json.dumps(reply), folder=workspace)
    lines = ferrule("log", "--json", folder=workspace).out.splitlines()
    calls = [json.loads(line)["invocation_id"] for line in lines]
    assert len(calls) == 2
    before = sorted(file.name for file in (workspace / ".ferrule").iterdir())
    for command in ("explain", "result", "follow", "cancel"):
        assert offered(workspace, f"ferrule {command} inv_") == calls[::-1], command
    assert offered(workspace, f"ferrule explain {calls[0]}") == calls[:1]
    for command in ("approve", "reject", "answer", "settle", "delegate"):
        assert offered(workspace, f"ferrule {command} ") == calls[1:], command
    assert sorted(file.name for file in (workspace / ".ferrule").iterdir()) == before


def test_completion_of_ids_writes_nothing_after_a_crash(workspace: Path) -> None:
    (workspace / "policy.toml").write_text('[[rules]]\nid = "look"\ndecision = "allow"\ntool = "find-customer"\n')
    ferrule("call", "find-customer", "--email", "a@example.com", folder=workspace)
    left = workspace.parent / "left"
    with closing(sqlite3.connect(workspace / ".ferrule" / "ledger.db")) as database:
        database.execute("CREATE TABLE written_last (one)")
        database.commit()
        shutil.copytree(workspace, left)
    files = [left / ".ferrule" / name for name in ("ledger.db", "ledger.db-wal")]
    before = [file.read_bytes() for file in files]
    assert len(before[1]) > 0
    assert len(offered(left, "ferrule explain inv_")) == 1
    assert [file.read_bytes() for file in files] == before


def test_completion_of_ids_is_silent_where_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert offered(tmp_path, "ferrule explain inv_") == []
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "ferrule.toml").write_text("")
    assert offered(tmp_path, "ferrule explain inv_") == []
    assert [file.name for file in tmp_path.iterdir()] == ["ferrule.toml"]
    (tmp_path / ".ferrule").mkdir()
    (tmp_path / ".ferrule" / "ledger.db").write_text("no ledger at all")
    assert offered(tmp_path, "ferrule explain inv_") == []
    (tmp_path / "ferrule.toml").write_text("namespace = [")
    assert offered(tmp_path, "ferrule explain inv_") == offered(tmp_path, "ferrule show a") == []
