"""The publish check on whole workspaces: what is reported, on which file, at which line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ferrule.cli import main
from ferrule.definitions.compiler.seal import make_key
from ferrule.definitions.rules.compat.pages import COMPAT_RULES, PAGES
from ferrule.model.diagnostic import Severity
from ferrule.workspace.releases import CatalogDifference, build, diff, publish
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.definitions import INPUT, OUTPUT, agent, oxp, role, shop, tool, write

NOW, AT = "2026-02-01", "2026-02-01T12:00:00Z"
Found = tuple[str, str, str, int]
NARROW: dict[str, Any] = {**INPUT, "properties": {"q": {"type": "string", "minLength": 1, "description": "Words."}}}
WIDE: dict[str, Any] = {**INPUT, "required": []}
POOR: dict[str, Any] = {**OUTPUT, "required": []}


def compare_folders(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> CatalogDifference:
    """Two folders, the second as it would be published."""
    write(tmp_path / "published", old)
    write(tmp_path / "candidate", new)
    workspace = Workspace.open(tmp_path / "candidate")
    return diff(workspace, str(tmp_path / "published"), str(tmp_path / "candidate"), now=NOW)


def list_findings(difference: CatalogDifference) -> list[Found]:
    """Rule, severity, file (with its side) and line of every diagnostic."""
    rows = []
    for diagnostic in difference.report.diagnostics:
        side, _, name = diagnostic.file.partition("published/" if "/published/" in diagnostic.file else "candidate/")
        where = "published" if "/published/" in diagnostic.file else "candidate"
        rows.append((diagnostic.rule, diagnostic.severity.value, f"{where}/{name or side}", diagnostic.line))
    return rows


TOOL = "candidate/tools/find-order.tool.md"
VERSIONS: dict[str, tuple[str, list[Found]]] = {
    "nothing changed": (tool(), []),
    "only the body changed": (tool(body="# Notes\nOther text.\n"), []),
    "only comments changed": (tool().replace("status: active", "status: active # yes"), []),
    "changed under the same version": (tool(name="Other"), [("AML-82", "error", TOOL, 4)]),
    "changed under a lower version": (tool(version="0.9.0"), [("AML-82", "error", TOOL, 4)]),
    "a release candidate of what is published": (tool(version="1.0.0-rc.1"), [("AML-82", "error", TOOL, 4)]),
    "changed with a patch": (tool(version="1.0.1", name="Other"), []),
    "breaking under the same version": (tool(takes=NARROW), [("AML-82", "error", TOOL, 4)]),
    "breaking with a minor version": (tool(version="1.1.0", takes=NARROW), [("AML-83", "error", TOOL, 4)]),
    "breaking with a patch": (tool(version="1.0.1", takes=NARROW), [("AML-83", "error", TOOL, 4)]),
    "breaking with a major version": (tool(version="2.0.0", takes=NARROW), []),
    "widened with a patch": (tool(version="1.0.1", takes=WIDE), []),
    "weaker results with a minor version": (tool(version="1.1.0", gives=POOR), [("AML-84", "warning", TOOL, 4)]),
    "weaker results under the same version": (tool(gives=POOR), [("AML-82", "error", TOOL, 4)]),
    "weaker results with a major version": (tool(version="2.0.0", gives=POOR), []),
    "both break": (
        tool(version="1.1.0", takes=NARROW, gives=POOR),
        [("AML-83", "error", TOOL, 4), ("AML-84", "warning", TOOL, 4)],
    ),
    "a version that is none is for check to report": (tool(version="1.1", takes=NARROW), []),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_versions_of_tools(name: str, tmp_path: Path) -> None:
    text, expected = VERSIONS[name]
    assert (
        list_findings(
            compare_folders(tmp_path, {"tools/find-order.tool.md": tool()}, {"tools/find-order.tool.md": text})
        )
        == expected
    )


@pytest.mark.parametrize(("version", "expected"), [("0.2.0", []), ("0.1.1", [("AML-83", "error", TOOL, 4)])])
def test_below_one_a_minor_version_counts_as_major(version: str, expected: list[Found], tmp_path: Path) -> None:
    old, new = tool(version="0.1.0"), tool(version=version, takes=NARROW)
    assert (
        list_findings(compare_folders(tmp_path, {"tools/find-order.tool.md": old}, {"tools/find-order.tool.md": new}))
        == expected
    )


def test_undecidable_input_is_a_warning_that_asks_for_a_person(tmp_path: Path) -> None:
    old, new = (
        {"type": "object", "patternProperties": {pattern: {"type": "string"}}, "additionalProperties": False}
        for pattern in ("^x(a|b)+(c{1,40}d?)*$", "^x[ab]+(c{1,39}d*)*$")
    )
    files = [{"tools/find-order.tool.md": tool(version=v, takes=s)} for v, s in (("1.0.0", old), ("1.1.0", new))]
    difference = compare_folders(tmp_path, *files)
    assert list_findings(difference) == [("AML-83", "warning", TOOL, 4)]
    assert "a person must look" in difference.report.diagnostics[0].message


def test_a_person_who_looked_says_so_in_a_comment_or_in_the_settings(tmp_path: Path) -> None:
    note = "1.1.0 # ferrule: ignore[AML-83] nobody sends an empty word"
    silenced = tool(version=note, takes=NARROW)
    old, new = {"tools/find-order.tool.md": tool()}, {"tools/find-order.tool.md": silenced}
    assert list_findings(compare_folders(tmp_path / "a", old, new)) == []
    report = Workspace.open(tmp_path / "a/candidate").check(now=NOW)
    assert [diagnostic.rule for diagnostic in report.diagnostics] == []
    settings = 'namespace = "shop"\n[[check.suppress]]\nrule = "AML-83"\nreason = "nobody does"\npath = "tools/*"\n'
    new = {"ferrule.toml": settings, "tools/find-order.tool.md": tool(version="1.1.0", takes=NARROW)}
    assert list_findings(compare_folders(tmp_path / "b", old, new)) == []
    assert Workspace.open(tmp_path / "b/candidate").check(now=NOW).diagnostics == ()


def test_a_renamed_tool_is_reported_on_its_new_file(tmp_path: Path) -> None:
    new = {**shop(), "tools/look-up.tool.md": tool("look-up", "1.1.0")}
    del new["tools/find-order.tool.md"]
    assert list_findings(compare_folders(tmp_path, shop(), new)) == [
        ("AML-81", "error", "candidate/tools/look-up.tool.md", 3)
    ]


def test_a_removed_tool_is_reported_at_the_published_reference(tmp_path: Path) -> None:
    expected = [("AML-81", "error", "published/agents/helper.agent.md", 15)]
    assert list_findings(compare_folders(tmp_path, shop(), {})) == expected
    other = {"tools/other.tool.md": tool("other", name="Another", takes=NARROW)}
    assert list_findings(compare_folders(tmp_path, shop(), other)) == expected


def test_two_possible_successors_mean_removed(tmp_path: Path) -> None:
    new = {f"tools/{name}.tool.md": tool(name) for name in ("look-up", "search-order")}
    assert [row[0] for row in list_findings(compare_folders(tmp_path, shop(), new))] == ["AML-81"]
    assert list_findings(compare_folders(tmp_path, shop(), new))[0][2] == "published/agents/helper.agent.md"


def test_a_tool_nobody_uses_may_go_and_a_broken_file_is_not_gone(tmp_path: Path) -> None:
    files = {"tools/find-order.tool.md": tool()}
    assert list_findings(compare_folders(tmp_path / "a", files, {})) == []
    assert (
        list_findings(compare_folders(tmp_path / "b", shop(), {"tools/find-order.tool.md": "---\nbroken: [\n---\n"}))
        == []
    )


def test_a_tool_only_a_role_names_is_told_on_the_role(tmp_path: Path) -> None:
    old = {"tools/find-order.tool.md": tool(), "iam/reader.iam.md": role("find-order")}
    assert list_findings(compare_folders(tmp_path, old, {})) == [("AML-95", "error", "published/iam/reader.iam.md", 12)]


def test_published_agents_and_roles_are_checked_against_the_new_tools(tmp_path: Path) -> None:
    disabled = {"tools/find-order.tool.md": tool(version="1.0.1", status="disabled")}
    assert list_findings(compare_folders(tmp_path, shop(), disabled)) == [
        ("AML-78", "error", "published/agents/helper.agent.md", 15),
        ("AML-95", "error", "published/iam/reader.iam.md", 12),
    ]


def test_findings_an_agent_had_before_are_not_repeated(tmp_path: Path) -> None:
    deprecated = shop(tool=tool(status="deprecated"))
    again = {"tools/find-order.tool.md": tool(version="1.0.1", status="deprecated", name="Other")}
    assert list_findings(compare_folders(tmp_path / "a", deprecated, again)) == []
    fresh = {"tools/find-order.tool.md": tool(version="1.0.1", status="deprecated")}
    assert [row[:2] for row in list_findings(compare_folders(tmp_path / "b", shop(), fresh))] == [("AML-79", "warning")]


def test_an_agent_that_was_mended_in_the_same_change_is_looked_at_as_it_will_be(tmp_path: Path) -> None:
    old = {
        **shop(agent=agent("find-order", "other"), role=role("find-order", "other")),
        "tools/other.tool.md": tool("other"),
    }
    new = {
        **shop(agent=agent("find-order", version="1.1.0"), role=role("find-order", version="2.0.0")),
        "tools/other.tool.md": tool("other", "1.0.1", status="disabled"),
    }
    assert list_findings(compare_folders(tmp_path, old, new)) == []


ROLES: dict[str, tuple[str, list[Found]]] = {
    "unchanged": (role("one-tool", "two-tool"), []),
    "text with a patch": (role("one-tool", "two-tool", version="1.0.1").replace("May read", "Can read"), []),
    "grant added, minor": (role("one-tool", "two-tool", "three-tool", version="1.1.0"), []),
    "grant added, patch": (role("one-tool", "two-tool", "three-tool", version="1.0.1"), [("AML-99", "error", "", 4)]),
    "grant removed, major": (role("one-tool", version="2.0.0"), []),
    "grant removed, minor": (role("one-tool", version="1.1.0"), [("AML-99", "error", "", 4)]),
    "grant denied, minor": (
        role("one-tool", "two-tool", version="1.1.0").replace("two-tool, access: call", "two-tool, access: deny"),
        [("AML-99", "error", "", 4)],
    ),
    "changed, not raised": (role("one-tool", "two-tool").replace("May read", "Can read"), [("AML-99", "error", "", 4)]),
}


@pytest.mark.parametrize("name", ROLES)
def test_versions_of_roles(name: str, tmp_path: Path) -> None:
    text, expected = ROLES[name]
    tools = {f"tools/{name}.tool.md": tool(name) for name in ("one-tool", "two-tool", "three-tool")}
    old = {**tools, "iam/reader.iam.md": role("one-tool", "two-tool")}
    rows = list_findings(compare_folders(tmp_path, old, {**tools, "iam/reader.iam.md": text}))
    assert [(rule, severity, "", line) for rule, severity, _, line in rows] == expected


def test_an_agent_is_not_republished_under_its_version(tmp_path: Path) -> None:
    changed = agent("find-order").replace("Helps customers", "Serves customers")
    assert list_findings(compare_folders(tmp_path / "a", shop(), shop(agent=changed))) == [
        ("AML-89", "error", "candidate/agents/helper.agent.md", 4)
    ]
    raised = changed.replace("version: 1.0.0", "version: 1.0.1")
    assert list_findings(compare_folders(tmp_path / "b", shop(), shop(agent=raised))) == []


def test_an_oxp_version_keeps_its_input_contract(tmp_path: Path) -> None:
    other = {"type": "object", "properties": {"a": {"type": "integer", "description": "One."}}}
    old = {"tools/add.json": oxp()}
    assert list_findings(compare_folders(tmp_path / "a", old, {"tools/add.json": oxp(parameters=other)})) == [
        ("OXP-50", "error", "candidate/tools/add.json", 5)
    ]
    assert (
        list_findings(compare_folders(tmp_path / "b", old, {"tools/add.json": oxp(description="Sums numbers.")})) == []
    )
    assert list_findings(compare_folders(tmp_path / "c", old, {"tools/add.json": oxp("1.1.0", parameters=other)})) == []


def test_impact_names_the_agents_and_roles_that_use_a_tool(tmp_path: Path) -> None:
    difference = compare_folders(tmp_path, shop(), shop(tool=tool(version="1.0.1", name="Other")))
    change = difference.comparison.changes[0]
    assert (change.agents, change.roles) == (("helper",), ("reader",))


def test_the_last_release_is_what_is_compared_with_by_default(tmp_path: Path) -> None:
    workspace = Workspace.open(write(tmp_path, shop()))
    publish(workspace, by="ada", at=AT, now=NOW)
    assert list_findings(diff(workspace, now=NOW)) == []
    (tmp_path / "tools/find-order.tool.md").unlink()
    difference = diff(workspace, now=NOW)
    assert [(d.rule, Path(d.file).name, d.line) for d in difference.report.diagnostics] == [
        ("AML-81", "helper.agent.md", 15)
    ]
    assert difference.published == "release 1"


def test_a_tool_that_comes_back_is_compared_with_what_it_was(tmp_path: Path) -> None:
    other = {"tools/other.tool.md": tool("other")}
    workspace = Workspace.open(write(tmp_path, {**other, "tools/find-order.tool.md": tool(version="1.2.0")}))
    publish(workspace, by="ada", at=AT, now=NOW)
    (tmp_path / "tools/find-order.tool.md").unlink()
    publish(workspace, by="ada", at=AT, now=NOW)
    for version, expected in (("1.2.0", []), ("1.1.0", ["AML-82"]), ("1.2.1", [])):
        write(tmp_path, {"tools/find-order.tool.md": tool(version=version)})
        assert [diagnostic.rule for diagnostic in diff(workspace, now=NOW).report.diagnostics] == expected


def test_catalogs_compare_with_folders(tmp_path: Path) -> None:
    workspace = Workspace.open(write(tmp_path, {**shop(), "tools/add.json": oxp()}))
    path = build(workspace, now=NOW).path
    assert not [c for c in diff(workspace, str(path), now=NOW).comparison.changes if c.word != "unchanged"]


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def test_git_revisions_compare_with_the_working_tree(tmp_path: Path) -> None:
    root = write(tmp_path / "repository/nested", shop())
    git(tmp_path / "repository", "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "first")
    write(root, {"tools/find-order.tool.md": tool(version="1.1.0", takes=NARROW)})
    workspace = Workspace.open(root)
    for revision in ("HEAD", "main", "HEAD:nested", "HEAD:nested/tools/find-order.tool.md"):
        rules = [diagnostic.rule for diagnostic in diff(workspace, revision, now=NOW).report.diagnostics]
        assert rules == ["AML-83"], revision
    assert diff(workspace, "HEAD", "HEAD", now=NOW).report.diagnostics == ()


def test_the_command_line_prints_changes_formats_and_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "old", shop())
    write(tmp_path / "new", shop(tool=tool(version="1.1.0", takes=NARROW)))
    places = [str(tmp_path / "old"), str(tmp_path / "new")]
    assert main(["diff", *places]) == 1
    text = capsys.readouterr().out
    assert '`{"q":""}` was accepted and no longer is' in text and "used by: agent helper, role reader" in text
    assert main(["diff", *places, "--format", "json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["summary"]["errors"] == 1 and shown["diagnostics"][0]["rule"] == "AML-83"
    assert shown["changes"][0]["counterexample"] == {"q": ""} and shown["changes"][0]["needed"] == "major"
    for form in ("sarif", "github", "junit"):
        assert main(["diff", *places, "--format", form]) == 1
        assert "AML-83" in capsys.readouterr().out
    assert main(["diff", places[0], places[0]]) == 0
    assert main(["diff", "no-such-thing", places[0]]) == 2
    assert main(["diff", places[0]]) == 2  # nothing was ever published there


def test_build_and_publish_tell_what_they_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, shop())
    assert main(["build", str(tmp_path), "--now", NOW]) == 0
    assert "made a new key" in (text := capsys.readouterr().out) and "1 tool, 1 agent, 1 role" in text
    assert main(["publish", str(tmp_path), "--now", NOW, "--approved-by", "grace"]) == 0
    assert "approved by grace" in capsys.readouterr().out
    assert main(["publish", str(tmp_path), "--now", NOW]) == 0
    assert "nothing to publish" in capsys.readouterr().out
    write(tmp_path, shop(tool=tool(status="nothing")))
    assert main(["build", str(tmp_path), "--now", NOW]) == 1
    assert "AML-11" in capsys.readouterr().out


def test_the_environment_may_name_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_key(tmp_path / "elsewhere.key")
    monkeypatch.setenv("FERRULE_KEY_FILE", str(tmp_path / "elsewhere.key"))
    write(tmp_path / "work", shop())
    assert main(["build", str(tmp_path / "work"), "--now", NOW, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["new_key"] is None
    assert not (tmp_path / "work/.ferrule/keys").exists()
    monkeypatch.setenv("FERRULE_KEY_FILE", str(tmp_path / "missing.key"))
    assert main(["build", str(tmp_path / "work"), "--now", NOW]) == 2
    assert "missing.key" in capsys.readouterr().err


def test_every_compatibility_rule_has_a_page() -> None:
    codes = {page.code for page in PAGES}
    assert codes == {"AML-81", "AML-82", "AML-83", "AML-84", "AML-85", "AML-99", "OXP-50"}
    assert {rule.code for rule in COMPAT_RULES} <= codes | {"AML-89"}
    assert all(page.severity in Severity and page.summary and page.details for page in PAGES)
