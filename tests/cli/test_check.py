"""`ferrule check` as a user meets it: exit codes, formats, filters and where the output goes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.run import ferrule


def test_a_clean_workspace_exits_with_0(workspace: Path) -> None:
    ran = ferrule("check", folder=workspace)
    assert ran.code == 0, ran.out
    assert ran.out.endswith("no problems\n")
    assert ran.err == ""


def test_errors_exit_with_1_and_are_shown_with_a_caret(broken: Path) -> None:
    ran = ferrule("check", folder=broken)
    assert ran.code == 1
    lines = ran.out.split("\n")
    place = next(number for number, line in enumerate(lines) if "error AML-11" in line)
    assert lines[place].startswith("tools/send-reply.tool.md:6:9: error AML-11 ")
    assert lines[place + 1] == "   6 | status: retired"
    assert lines[place + 2] == "     |         ^^^^^^^"


HOOK = '[[hooks]]\nid = "a"\nevent = "pre_tool_use"\nkind = "command"\ncommand = ["true"]\n'


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            HOOK.replace("_use", ""),
            "the hook 'a' waits for 'pre_tool', which never comes; did you mean 'pre_tool_use'?",
        ),
        (HOOK.replace("command =", "env ="), "the hook 'a' is of kind 'command'; say `command` too"),
        (HOOK + HOOK, "two hooks are called 'a' at pre_tool_use; rename one of them"),
        (
            '[[hooks]]\nid = "a"\nevent = "pre_tool_use"\nkind = "function"\nfunction = "no.py:x"\n',
            "the hook 'a': there is no file 'no.py' in the workspace; mend its `function`",
        ),
        (
            '[[guardrails]]\nid = "g"\nat = ["tool_input"]\nkind = "command"\ncommand = ["true"]\non_fail = "apply"\n',
            "the guardrail 'g' answers with score, so on_fail cannot be 'apply'",
        ),
        (
            '[[guardrails]]\nid = "g"\nat = ["tool_input"]\nkind = "http"\n',
            "the guardrail 'g' is of kind 'http'; set url too",
        ),
        ('[[redaction.patterns]]\nname = "x"\npattern = "(["\n', "'x' is no regular expression"),
        ('[[redaction.patterns]]\nname = "x"\npattern = "(a+)+$"\n', "'x' takes too long on some short texts"),
    ],
)
def test_settings_that_would_refuse_every_call_are_refused_by_the_check(
    workspace: Path, written: str, told: str
) -> None:
    with (workspace / "ferrule.toml").open("a") as file:
        file.write(f"\n{written}")
    ran = ferrule("check", folder=workspace)
    assert (ran.code, ran.out) == (2, "")
    assert "ferrule.toml: " in ran.err and told in ran.err


def test_settings_that_only_lack_their_surroundings_are_fine(workspace: Path) -> None:
    with (workspace / "ferrule.toml").open("a") as file:
        file.write(
            '\n[[hooks]]\nid = "a"\nevent = "pre_tool_use"\nkind = "http"\nurl = "https://risk.example.com"\n'
            'secret_env = "SET_IN_PRODUCTION"\n'
        )
    assert ferrule("check", folder=workspace).code == 0


def test_a_pipe_among_the_definitions_is_an_error_and_stops_nothing(workspace: Path) -> None:
    os.mkfifo(workspace / "tools" / "pipe.tool.md")
    ran = ferrule("check", folder=workspace)
    assert ran.code == 1
    assert "pipe.tool.md:1:1: error AML-2 not a regular file" in ran.out


def test_the_workspace_is_found_from_a_folder_inside_it(broken: Path) -> None:
    ran = ferrule("check", folder=broken / "tools" / "notes")
    assert ran.code == 1
    assert "send-reply.tool.md:6:9" in ran.out


def test_one_file_can_be_checked_alone(broken: Path) -> None:
    assert ferrule("check", "tools/send-reply.tool.md", folder=broken).code == 1
    assert ferrule("check", "tools/find-customer.tool.md", folder=broken).code == 0


def test_warnings_fail_only_when_strict(broken: Path) -> None:
    options = ("check", "--ignore", "AML-11,AML-79,AML-80")
    assert ferrule(*options, folder=broken).code == 0
    assert ferrule(*options, "--strict", folder=broken).code == 1
    (broken / "ferrule.toml").write_text("[check]\nstrict = true\n")
    assert ferrule(*options, folder=broken).code == 1


def test_select_and_ignore_take_codes_and_prefixes(broken: Path) -> None:
    def rules(*options: str) -> set[str]:
        ran = ferrule("check", "--format", "json", *options, folder=broken)
        return {found["rule"] for found in json.loads(ran.out)["diagnostics"]}

    assert rules("--select", "aml-11") == {"AML-11"}
    assert rules("--select", "OXP", "--select", "ADL") == set()
    assert "AML-11" not in rules("--ignore", "AML-11")


def test_a_misspelt_rule_is_refused(broken: Path) -> None:
    ran = ferrule("check", "--select", "AMK-11", folder=broken)
    assert ran.code == 2
    assert "AMK-11" in ran.err


def test_json_is_the_documented_shape(broken: Path) -> None:
    ran = ferrule("check", "--format", "json", folder=broken)
    written = json.loads(ran.out)
    found = next(item for item in written["diagnostics"] if item["rule"] == "AML-11")
    assert (found["file"], found["line"], found["column"], found["end_line"], found["end_column"]) == (
        "tools/send-reply.tool.md",
        6,
        9,
        6,
        16,
    )
    assert found["path"] == "status"
    assert found["severity"] == "error"
    assert written["summary"]["errors"] >= 1
    assert ran.code == 1


@pytest.mark.parametrize("shape", ["json", "sarif"])
def test_output_goes_to_a_file_when_asked(shape: str, broken: Path) -> None:
    ran = ferrule("check", "--format", shape, "-o", "report.out", folder=broken)
    assert (ran.code, ran.out) == (1, "")
    assert json.loads((broken / "report.out").read_text())


def test_an_output_file_that_cannot_be_written_exits_with_2(broken: Path) -> None:
    ran = ferrule("check", "-o", "no/such/folder/report", folder=broken)
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_github_and_junit_are_for_machines(broken: Path) -> None:
    github = ferrule("check", "--format", "github", folder=broken)
    assert github.code == 1
    assert "::error file=tools/send-reply.tool.md,line=6,endLine=6,col=9,endColumn=16,title=AML-11::" in github.out
    junit = ferrule("check", "--format", "junit", folder=broken)
    assert ElementTree.fromstring(junit.out).get("failures") != "0"


def test_colours_are_for_terminals_unless_forced(broken: Path) -> None:
    assert "\x1b[" not in ferrule("check", folder=broken).out
    assert "\x1b[" in ferrule("check", folder=broken, environment={"FORCE_COLOR": "1"}).out
    both = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b[" not in ferrule("check", folder=broken, environment=both).out


def test_a_file_name_that_is_not_utf_8_is_shown_escaped(workspace: Path) -> None:
    name = (workspace / "tools").as_posix().encode() + b"/b\xffd.tool.md"
    Path(name.decode(errors="surrogateescape")).write_text("---\nspec_version: 1\n---\n")
    for shape in ("text", "json", "sarif", "github", "junit"):
        ran = ferrule("check", "--format", shape, folder=workspace)
        assert ran.code == 1, ran.err
        assert "Traceback" not in ran.err


def test_an_empty_folder_has_no_definitions(tmp_path: Path) -> None:
    ran = ferrule("check", folder=tmp_path)
    assert (ran.code, ran.out) == (0, "no definitions found\n")


def test_options_of_fix_need_fix(broken: Path) -> None:
    assert ferrule("check", "--yes", folder=broken).code == 2
    assert ferrule("check", "--fix", "--watch", folder=broken).code == 2


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "[mcp.servers.web] needs either a command or a url"),
        ('url = "https://a.example"\ncredentials = { scheme = "bearer" }', "credentials: scheme cannot be 'bearer'"),
    ],
)
def test_a_server_that_could_never_be_reached_is_refused(workspace: Path, table: str, told: str) -> None:
    settings = workspace / "ferrule.toml"
    settings.write_text(f"{settings.read_text()}\n[mcp.servers.web]\n{table}\n")
    ran = ferrule("check", folder=workspace)
    assert ran.code == 2 and told in ran.err
