"""Command lines: one plain command or nothing; whitelists by words (ADL-25)."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.processes.command_line import CommandRefused, Whitelist, split_command
from ferrule.infra.processes.shell_text import LONGEST, parse


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls -l", ("ls", "-l")),
        ("  ls\t-l \n", ("ls", "-l")),
        ("echo 'a; b' \"c && d\" e\\;f", ("echo", "a; b", "c && d", "e;f")),
        ("echo '$(id)' '`id`' '$HOME' '*' '~' '{a,b}' '#x'", ("echo", "$(id)", "`id`", "$HOME", "*", "~", "{a,b}", "#x")),
        ("echo \\$HOME \\* \\~ \"\\$x\" \"\\`\"", ("echo", "$HOME", "*", "~", "$x", "`")),
        ("echo ''", ("echo", "")),
        ("git commit -m 'one\ntwo'", ("git", "commit", "-m", "one\ntwo")),
        ("r''m -r\"f\" x", ("rm", "-rf", "x")),
        ("echo a=1 b~c d# e^ f! %g @h ,i +j", ("echo", "a=1", "b~c", "d#", "e^", "f!", "%g", "@h", ",i", "+j")),
        ("grep 'foo$' größe.txt", ("grep", "foo$", "größe.txt")),
        ("'a=1' b", ("a=1", "b")),
    ],
)  # fmt: skip
def test_a_plain_command_is_cut_into_words(line: str, words: tuple[str, ...]) -> None:
    assert split_command(line) == words


@pytest.mark.parametrize(
    ("line", "at", "named"),
    [
        ("ls; rm x", 2, ";"),
        ("ls ; rm x", 3, ";"),
        ("ls && rm x", 3, "&"),
        ("ls || rm x", 3, "|"),
        ("ls | sh", 3, "|"),
        ("ls & rm x", 3, "&"),
        ("ls\nrm x", 2, "line break"),
        ("  ls\nrm x", 4, "line break"),
        ("ls \\\nrm", 4, "line break"),
        ("ls $(rm x)", 3, "$"),
        ('ls "$(rm x)"', 4, "$"),
        ("ls `rm x`", 3, "`"),
        ('ls "`rm x`"', 4, "`"),
        ("ls $HOME", 3, "$"),
        ("ls ${HOME}", 3, "$"),
        ("ls $((1+1))", 3, "$"),
        ("ls $'\\n'", 3, "$"),
        ("ls $?", 3, "$"),
        ("ls a$", 4, "$"),
        ("ls > x", 3, ">"),
        ("ls >> x", 3, ">>"),
        ("ls 2>&1", 4, ">&"),
        ("ls &> x", 3, "&>"),
        ("cat < x", 4, "<"),
        ("cat << E", 4, "<<"),
        ("cat <<< x", 4, "<<<"),
        ("diff <(ls) x", 5, "<"),
        ("tee >(sh)", 4, ">"),
        ("(ls)", 0, "("),
        ("ls *", 3, "*"),
        ("ls a?", 4, "?"),
        ("ls [ab]", 3, "["),
        ("ls {a,b}", 3, "{"),
        ("ls ~", 3, "~"),
        ("ls ~root/x", 3, "~"),
        ("X=1 ls", 0, "assignment"),
        ("LD_PRELOAD=/x.so ls", 0, "assignment"),
        ("ls # x", 3, "#"),
        ("# ls", 0, "#"),
        ("ls 'x", 3, "quote"),
        ('ls "x', 3, "quote"),
        ("ls \\", 3, "\\"),
        ("ls() { rm x; }", 2, "("),
        ("ls\0x", 2, "U+0000"),
        ("ls 'a\x1b[2J'", 5, "U+001B"),
        ("ls\rx", 2, "U+000D"),
        ("ls \x85", 3, "U+0085"),
        ("ls '\u202egpj.exe'", 4, "U+202E"),
        ("ls \ud800", 3, "U+D800"),
    ],
)
def test_what_only_a_shell_can_do_is_refused_by_name_and_place(line: str, at: int, named: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        split_command(line)
    assert refused.value.at == at
    assert named in str(refused.value)
    assert f"character {at + 1}" in str(refused.value)


@pytest.mark.parametrize("line", ["", " ", "\n\t", "''", "'' x", "x" * (LONGEST + 1)])
def test_no_command_is_refused(line: str) -> None:
    with pytest.raises(CommandRefused):
        split_command(line)


@given(st.lists(st.text(st.characters(blacklist_categories=("Cc", "Cs", "Cf", "Zl", "Zp")), max_size=12), min_size=1))
def test_any_quoted_words_come_back(words: list[str]) -> None:
    if not words[0]:
        words[0] = "x"
    assert split_command(shlex.join(words)) == tuple(words)


@given(st.text(st.sampled_from("ls ;&|$`'\"\\<>(){}*?~#=!\n\tX1-"), max_size=24))
def test_what_is_run_is_what_rules_judge(line: str) -> None:
    """A line is refused, or its words are exactly those the rules see, with nothing for a shell to fill in."""
    try:
        words = split_command(line)
    except CommandRefused:
        return
    parsed = parse(line.strip())
    assert parsed.is_certain
    assert [tuple(word.text for word in part.words) for part in parsed.parts] == [words]
    assert not any(word.is_open for part in parsed.parts for word in part.words)
    assert list(words) == shlex.split(line)


@pytest.mark.parametrize("line", ["ls", "ls -l", "git status", "git status -s", "/opt/x run"])
def test_a_whitelist_covers_what_begins_as_an_entry(line: str) -> None:
    assert Whitelist(["ls", " git status ", "/opt/x"]).allows(split_command(line))


@pytest.mark.parametrize(
    "line",
    [
        "lsof",
        "git",
        "git push",
        "git statusx",
        "'git status'",
        "/bin/ls",
        "./ls",
        "/opt/x/../sh",
        "LS",
        "'ls -l'",
        "x ls",
    ],
)
def test_a_whitelist_covers_nothing_else(line: str) -> None:
    assert not Whitelist(["ls", "git status", "/opt/x"]).allows(split_command(line))


def test_an_empty_whitelist_covers_everything() -> None:
    assert Whitelist([]).allows(("anything",))


@pytest.mark.parametrize("entry", ["", "ls;", "ls | sh", "rm *", "X=1 ls"])
def test_an_entry_has_to_be_a_plain_command(entry: str) -> None:
    with pytest.raises(CommandRefused, match="whitelist"):
        Whitelist(["ls", entry])
