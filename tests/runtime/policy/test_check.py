"""`ferrule check` on policies: every mistake at its line, and rules that do not do what they were written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from ferrule.infra.lockfile.file import Lock, LockedServer, make_locked_tool, write_lock
from ferrule.model.diagnostic import Report
from ferrule.workspace.workspace import Workspace
from tests.runtime.policy.samples import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_workspace(tmp_path / "shop")
    return tmp_path / "shop"


def check(root: Path, *paths: str) -> Report:
    return Workspace.open(root).check([root / path for path in paths])


def find_problems(root: Path, *paths: str) -> list[tuple[str, str, int, str]]:
    report = check(root, *paths)
    return [(Path(each.file).name, each.rule, each.line, each.severity.value) for each in report.diagnostics]


def test_a_good_policy_has_no_findings(root: Path) -> None:
    write(root, "policy.toml", '[groups]\nfinance = ["ada", "bob"]\n[[rules]]\ndecision = "ask"\ntool = "send-*"\n'
          'when = { "to.address" = { matches = ".*@example[.]com" } }\npeople = 2\napprovers = ["group:finance"]\n')  # fmt: skip
    before = check(root).summary.files
    assert find_problems(root) == []
    (root / "policy.toml").unlink()
    assert check(root).summary.files == before - 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('mode = "trustd"', "FER-9"),
        ("mode = 3", "FER-9"),
        ('modes = "default"', "FER-8"),
        ('groups = ["ada"]', "FER-9"),
        ('rules = "none"', "FER-9"),
        ('engine = "cedar"', "FER-8"),
        ("[[rules]", "FER-7"),
        ('classifiers = [{ name = "x", authority = "maybe" }]', "FER-9"),
        ('rules = [{ decision = "alow" }]', "FER-9"),
        ('rules = [{ tool = "x" }]', "FER-9"),
        ('rules = [{ decision = "deny", pincipal = "eve" }]', "FER-8"),
        ('rules = [{ decision = "deny", tool = "[x" }]', "FER-9"),
        ('rules = [{ decision = "deny", tool = "" }]', "FER-9"),
        ('rules = [{ decision = "deny", tool = [] }]', "FER-9"),
        ('rules = [{ decision = "deny", tool_kind = "functoin" }]', "FER-9"),
        ('rules = [{ decision = "deny", risk = { at_leest = "high" } }]', "FER-8"),
        ('rules = [{ decision = "deny", facts = { is_destructive = "yes" } }]', "FER-9"),
        ('rules = [{ decision = "deny", path = { in = ["x"] } }]', "FER-9"),
        ("rules = [{ decision = 'deny', command = \"ls 'x\" }]", "FER-9"),
        ('rules = [{ decision = "deny", command = "ls && rm" }]', "FER-9"),
        ('rules = [{ decision = "deny", when = { a = { above = "3" } } }]', "FER-9"),
        ('rules = [{ decision = "deny", when = { a = { in = "DE" } } }]', "FER-9"),
        ('rules = [{ decision = "deny", when = { a = { matches = "(?=x)" } } }]', "FER-9"),
        ('rules = [{ decision = "deny", when = { a = ["x"] } }]', "FER-9"),
        ('rules = [{ decision = "deny", when = {} }]', "FER-9"),
        ('rules = [{ decision = "ask", expires = "soon" }]', "FER-9"),
        ('rules = [{ decision = "ask", people = 0 }]', "FER-9"),
        ('rules = [{ decision = "allow", approvers = ["ada"] }]', "FER-9"),
        ('rules = [{ decision = "deny", principal = "group:none" }]', "FER-13"),
    ],
)
def test_every_mistake_is_an_error_at_its_line(root: Path, line: str, code: str) -> None:
    write(root, "policy.toml", f"# a comment\n\n{line}\n")
    assert find_problems(root) == [("policy.toml", code, 3, "error")]


def test_the_table_in_the_settings_is_checked_with_its_lines(root: Path) -> None:
    settings = root / "ferrule.toml"
    text = settings.read_text(encoding="utf-8")
    lines = text.count("\n")
    settings.write_text(
        text + '[policy]\nshadow = "next.toml"\nfile = "other.toml"\n[[policy.rules]]\ndecision = "maybe"\n'
    )
    assert find_problems(root) == [
        ("ferrule.toml", "FER-7", lines + 2, "error"),
        ("ferrule.toml", "FER-7", lines + 3, "error"),
        ("ferrule.toml", "FER-9", lines + 5, "error"),
    ]
    assert check(root).diagnostics[0].path == "policy.shadow"


def test_rules_about_nothing_are_told_with_the_nearest_name(root: Path) -> None:
    write(root, "policy.toml", '[[rules]]\ndecision = "deny"\ntool = ["send-reply", "send-replay"]\n'
          '[[rules]]\ndecision = "deny"\ntool = "ghost-*"\n[[rules]]\ndecision = "deny"\nnamespace = "elsewhere"\n')  # fmt: skip
    assert find_problems(root) == [("policy.toml", "FER-11", line, "warning") for line in (3, 6, 9)]
    assert check(root).diagnostics[0].hint == "did you mean 'send-reply'?"


def test_nothing_is_called_unknown_while_a_tool_cannot_be_parsed(root: Path) -> None:
    write(root, "tools/broken.tool.md", "---\n: [\n---\n")
    write(root, "policy.toml", '[[rules]]\ndecision = "deny"\ntool = "broken-one"\n')
    assert not [each for each in find_problems(root) if each[1] == "FER-11"]


def test_an_allow_that_never_wins_is_told(root: Path) -> None:
    write(root, "policy.toml", '[[rules]]\nid = "all"\ndecision = "ask"\ntool = "send-*"\nprincipal = ["eve", "bob"]\n')
    write(root, ".ferrule/policy.local.toml", '[[rules]]\ndecision = "allow"\ntool = "send-reply"\nprincipal = "bob"\n'
          '[[rules]]\ndecision = "allow"\ntool = "send-reply"\n')  # fmt: skip
    assert find_problems(root) == [("policy.local.toml", "FER-12", 2, "warning")]
    assert "'all' (policy.toml:1)" in check(root).diagnostics[0].message


def test_duplicates_and_unanswerable_requests_are_told(root: Path) -> None:
    write(
        root,
        "policy.toml",
        '[[rules]]\nid = "a"\ndecision = "deny"\nagent = "x-*"\n[[rules]]\nid = "a"\ndecision = "ask"\n',
    )
    assert ("policy.toml", "FER-10", 6, "error") in find_problems(root)
    write(root, "policy.toml", '[[rules]]\ndecision = "ask"\npeople = 2\napprovers = ["ada"]\n'
          '[[rules]]\ndecision = "ask"\ntool = "send-reply"\napprovers = ["group:idp"]\n')  # fmt: skip
    assert find_problems(root) == [("policy.toml", "FER-14", 3, "warning"), ("policy.toml", "FER-13", 8, "warning")]


def test_findings_can_be_silenced_like_any_others(root: Path) -> None:
    write(
        root,
        "policy.toml",
        '[[rules]]\ndecision = "deny"\ntool = "ghost"  # ferrule: ignore[FER-11] it comes next week\n',
    )
    assert find_problems(root) == []


def test_a_policy_file_can_be_checked_alone(root: Path) -> None:
    write(root, "policy.toml", 'mode = "x"\n')
    assert [each[:2] for each in find_problems(root, "policy.toml")] == [("policy.toml", "FER-9")]
    assert find_problems(root, "tools") == []


def test_a_folder_that_is_no_workspace_may_have_a_policy_file_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "policy.toml", "whatever = 1\n")
    assert find_problems(tmp_path) == []


def test_cedar_policies_are_parsed(root: Path) -> None:
    pytest.importorskip("cedarpy")
    settings = root / "ferrule.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + '[policy]\nengine = "cedar"\n')
    assert [each[:2] for each in find_problems(root)] == [("ferrule.toml", "FER-7")]
    write(root, "policy.cedar", "permit(principal, action, resource)")
    assert [each[:2] for each in find_problems(root)] == [("policy.cedar", "FER-7")]
    write(root, "policy.cedar", "permit(principal, action, resource);")
    assert find_problems(root) == []


def test_tools_of_mcp_servers_are_known_once_they_are_pinned(root: Path) -> None:
    settings = root / "ferrule.toml"
    settings.write_text(settings.read_text() + '\n[mcp.servers.tickets]\ncommand = ["tickets"]\n')
    rules = "".join(
        f'[[rules]]\ndecision = "ask"\n{line}\n'
        for line in ('tool = "tickets.*"', 'tool = "tickets.close"', 'namespace = "tickets"', 'tool = "tickts.close"')
    )
    write(root, "policy.toml", rules)
    assert find_problems(root) == [], "nobody can tell yet which tools there will be"
    pinned = {
        "close": make_locked_tool({"name": "close", "inputSchema": {"type": "object"}}, "ada", "2026-01-31T12:00:00Z")
    }
    write_lock(root, Lock(servers={"tickets": LockedServer(source="tickets", tools=pinned)}))
    assert find_problems(root) == [("policy.toml", "FER-11", 12, "warning")]
