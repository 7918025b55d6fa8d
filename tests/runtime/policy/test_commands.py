"""Commands: matched by words; nothing gets past a deny, and nothing unclear fits an allow."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.processes.shell_text import parse
from ferrule.runtime.policy.commands import CommandMatcher


def allows(value: object, *patterns: str) -> bool:
    return CommandMatcher(patterns, is_strict=True).fits(value)


def denies(value: object, *patterns: str) -> bool:
    return CommandMatcher(patterns, is_strict=False).fits(value)


def words(line: str) -> list[list[str]]:
    return [[word.text for word in part.words] for part in parse(line).parts]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -l", [["ls", "-l"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("echo 'a; b' \"c && d\" e\\;f", [["echo", "a; b", "c && d", "e;f"]]),
        ("r''m -r\"f\" x", [["rm", "-rf", "x"]]),
        ("echo $(rm x) `id`", [["rm", "x"], ["id"], ["echo", "$", "$"]]),
        ('echo "$(rm "a b")"', [["rm", "a b"], ["echo", "$"]]),
        ("(cd x; ls)", [["cd", "x"], ["ls"]]),
        ("X=1 ls", [["ls"]]),
        ("ls 2>&1 >/dev/null", [["ls"]]),
        ("l\\\ns", [["ls"]]),
    ],
)
def test_a_line_is_cut_into_its_commands(line: str, expected: list[list[str]]) -> None:
    assert words(line) == expected
    assert parse(line).is_certain


@pytest.mark.parametrize(
    "line", ["echo 'x", 'echo "x', "ls #'\nrm x\n#'", "cat <<E\nx\nE", "echo $((1))", "echo $'\\n'", "a `b", "a $(b",
             "diff <(a) b", "echo ${x:-`id`}", "a\x00b", "a >", "\\", "a $(" * 40]
)  # fmt: skip
def test_what_cannot_be_parsed_fits_no_allow(line: str) -> None:
    assert not parse(line).is_certain
    assert not allows(line, "*", "echo *", "ls *")


@pytest.mark.parametrize(
    "line", ["ls", "ls -l x", "ls; ls -a", "ls && ls | ls", "ls $HOME", "ls *.py", "ls 2>/dev/null"]
)
def test_an_allow_fits_when_every_command_does(line: str) -> None:
    assert allows(line, "ls *")


@pytest.mark.parametrize(
    "line",
    ["ls; rm x", "ls && rm x", "ls $(rm x)", "ls `rm x`", "ls\nrm x", "ls | sh", "ls > /etc/passwd", "LD_PRELOAD=x ls",
     "/tmp/ls", "$LS", "lsx", "ls() { rm x; }; ls", "", "ls & rm x", "sudo ls", None, 5, []],
)  # fmt: skip
def test_an_allow_fits_nothing_else(line: object) -> None:
    assert not allows(line, "ls *")


def test_an_allow_without_a_star_is_exact() -> None:
    assert allows("git status", "git status")
    assert not allows("git status --porcelain", "git status")
    assert allows(["git", "status"], "git status")
    assert not allows(["git status"], "git status")
    assert allows("git log --oneline -5", "git log * -5")


@pytest.mark.parametrize(
    "line",
    ["rm -rf /", "ls; rm x", "ls&&rm x", "echo $(rm x)", "echo `rm x`", "\\rm x", "r''m x", '"rm" x', "/bin/rm x", "RM x",
     "sudo rm x", "sudo -u root rm x", "env X=1 rm x", "X=1 rm x", "xargs rm", "find . -exec rm {} +", "bash -c 'rm x'",
     "sudo sh -c 'ls; rm x'", "eval 'rm x'", "eval rm x", "if true; then rm x; fi", "{ rm x; }", "$X -rf /", "r? x",
     "cat <<E\nrm x\nE", "ls #'\nrm x\n#'", "! rm x", "timeout 5 rm x", "rm>x y", "ls|rm", "ls\n rm x", "echo 'x' ; rm 'y",
     "bash -c \"bash -c 'rm x'\""],
)  # fmt: skip
def test_nothing_hides_a_command_from_a_deny(line: str) -> None:
    assert denies(line, "rm")


@pytest.mark.parametrize("line", ["ls", "echo rm", "git rm x", "grep 'rm' x", "echo 'a; rm x'", "rmdir x", "./form"])
def test_a_deny_leaves_other_commands_alone(line: str) -> None:
    assert not denies(line, "rm")


def test_a_deny_of_several_words_fits_what_begins_so() -> None:
    assert denies("git push --force origin", "git push")
    assert denies("git push origin --force", "git push * --force")
    assert denies("git $X", "git push")
    assert not denies("git pull", "git push")
    assert denies(["git", "push"], "git push")
    assert denies({"not": "a command"}, "git push")


@pytest.mark.parametrize(
    "line", ["xargs " + "a " * 8000, "'" + "git push a " * 1400, "$(a)" * 4000, "sudo " + "git push " * 1700]
)
def test_a_long_line_takes_no_long_time(line: str) -> None:
    started = time.perf_counter()
    denies(line, "git pull", "git push * --force", "* x")
    assert time.perf_counter() - started < 2


plain = st.text("abcdefgh-./ ", min_size=1, max_size=8).map(shlex.quote)
joints = st.sampled_from([";", " && ", " || ", " | ", "\n", " & ", "|", "&&"])
wraps = st.sampled_from(["{}", "$({})", "`{}`", "( {} )", "sudo {}", 'echo "$({})"', "env A=1 {}", "time {}"])


@given(st.lists(plain, max_size=3), joints, wraps, joints, st.lists(plain, max_size=3))
def test_no_compound_line_sneaks_past_a_deny(
    before: list[str], joint: str, wrap: str, second: str, after: list[str]
) -> None:
    hidden = wrap.format("rm -rf x")
    line = joint.join(["echo " + " ".join(before), hidden]) + second + "echo " + " ".join(after)
    assert denies(line, "rm")
    assert not allows(line, "echo *")


@given(st.text(st.sampled_from("ls rm;&|$()`'\"\\#<>{}\n =*~!"), max_size=24))
def test_what_an_allow_fits_a_deny_of_something_else_does_not(line: str) -> None:
    if allows(line, "ls *"):
        assert not denies(line, "rm") or "$" in line or "`" in line or "*" in line
        assert {part.words[0].text for part in parse(line).parts} == {"ls"}
