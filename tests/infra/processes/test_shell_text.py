"""Command lines cut into their commands: everything a shell would run is seen, and what is not understood is uncertain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.processes.shell_text import LONGEST, parse


def commands(line: str) -> list[str]:
    return [" ".join(word.text for word in part.words) for part in parse(line).parts]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ls -l", ["ls -l"]),
        ("a; b && c || d | e & f\ng", ["a", "b", "c", "d", "e", "f", "g"]),
        ("(a; b)", ["a", "b"]),
        ("echo $(rm x) y", ["rm x", "echo $ y"]),
        ('echo "$(rm $(id))"', ["id", "rm $", "echo $"]),
        ("echo `rm x`", ["rm x", "echo $"]),
        ("echo 'a; b' \"c | d\" e\\;f", ["echo a; b c | d e;f"]),
        ("r''m x", ["rm x"]),
        ("X=1 rm x", ["rm x"]),
        ("rm x > /dev/null 2>&1", ["rm x"]),
        ('kill -9 "1">/dev/null', ["kill -9 1"]),
        ("kill -9 \\1>/dev/null", ["kill -9 1"]),
        ("kill -9 1''>/dev/null", ["kill -9 1"]),
        ("kill -9 ²>/dev/null", ["kill -9 ²"]),
        ("", []),
    ],
)
def test_every_command_of_a_line_is_found(line: str, found: list[str]) -> None:
    assert parse(line).is_certain
    assert commands(line) == found


@pytest.mark.parametrize(
    "line",
    [
        "ls # x", "cat << E", "cat <<< x", "diff <(ls) x", "echo $((1+1))", "echo $'x'", "echo 'x", 'echo "x', "echo \\",
        "echo $(ls", "echo `ls", "echo ${x:-$(id)}", "echo ${x", "ls >", "ls \x1b[2J", "rm 12>x",
        "$(" * 20 + "id" + ")" * 20, "x" * (LONGEST + 1),
    ],
)  # fmt: skip
def test_what_is_not_understood_makes_the_whole_line_uncertain(line: str) -> None:
    assert not parse(line).is_certain


@pytest.mark.parametrize(
    "line", ["rm $x", "rm ${x}", "rm *", "rm a?", "rm [ab]", "rm {a,b}", 'rm "$x"', "rm $(id)", "rm `id`"]
)
def test_a_word_that_a_shell_fills_in_is_open(line: str) -> None:
    assert parse(line).parts[-1].words[1].is_open


@pytest.mark.parametrize("line", ["rm 'x*'", "rm '$x'", "rm \\$x", "rm \\*", "rm x=1"])
def test_a_word_that_a_shell_takes_as_it_is_is_not_open(line: str) -> None:
    assert not any(word.is_open for word in parse(line).parts[0].words)


@pytest.mark.parametrize(
    ("line", "is_plain"),
    [
        ("ls 2>/dev/null", True),
        ("ls 2>&1", True),
        ("ls > x", False),
        ("ls > $x", False),
        ("X=1 ls", False),
        ("ls X=1", True),
        ("X=1", False),
    ],
)
def test_a_command_that_writes_a_file_or_sets_a_variable_is_not_plain(line: str, is_plain: bool) -> None:
    assert parse(line).parts[0].is_plain is is_plain


@given(st.text(st.sampled_from("ls ;&|$`'\"\\<>(){}*?~#=!\n\tX1-"), max_size=40))
def test_any_line_is_read_to_its_end_and_constructs_are_where_they_stand(line: str) -> None:
    parsed = parse(line)
    assert all(0 <= construct.at < len(line) for construct in parsed.constructs)
