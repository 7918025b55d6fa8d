"""`.env` in development: what is in it, who wins, and that nobody else gets it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.secrets.env import EnvFile, EnvironmentSource, parse_env_file
from ferrule.model.credentials import SecretRef
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.secrets.sources import make_clouds

FILE = r"""
# a comment
PLAIN=value
export EXPORTED=yes
  SPACED =  around   # and a comment
EMPTY=
ONLY_COMMENT= # nothing
HASH=a#b
SINGLE='  $HOME #kept \n '
DOUBLE="a \"quoted\" \\ line\nand $HOME \$x" # after
LINES="-----BEGIN KEY-----
abc
-----END KEY-----"
EQUALS=a=b==
NOT_RUN=$(whoami) `id` ${HOME}
JSON={"a": "b", "c": [1]}
"""


def test_every_way_to_write_a_value() -> None:
    values, strange = parse_env_file(FILE)
    assert strange == []
    assert values == {
        "PLAIN": "value",
        "EXPORTED": "yes",
        "SPACED": "around",
        "EMPTY": "",
        "ONLY_COMMENT": "",
        "HASH": "a#b",
        "SINGLE": r"  $HOME #kept \n ",
        "DOUBLE": 'a "quoted" \\ line\nand $HOME $x',
        "LINES": "-----BEGIN KEY-----\nabc\n-----END KEY-----",
        "EQUALS": "a=b==",
        "NOT_RUN": "$(whoami) `id` ${HOME}",
        "JSON": '{"a": "b", "c": [1]}',
    }


def test_windows_files_and_marks_at_the_start_are_read() -> None:
    assert parse_env_file("\ufeffA=1\r\nB='2'\r\n") == ({"A": "1", "B": "2"}, [])


def test_lines_that_are_no_variables_are_told_by_number_and_the_rest_counts() -> None:
    values, strange = parse_env_file("A=1\nno variable here\nB='open\nC=3\n1D=4\n")
    assert values == {"A": "1", "C": "3"} and strange == [2, 3, 5]


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    values, strange = parse_env_file(text)
    assert all(name.isascii() for name in values) and all(line >= 1 for line in strange)


@given(st.text(st.characters(codec="utf-8", exclude_characters="'\r\0"), max_size=100))
def test_whatever_stands_in_single_quotes_is_the_value(value: str) -> None:
    assert parse_env_file(f"A='{value}'\n") == ({"A": value}, [])


def test_the_environment_wins_even_with_an_empty_value(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\nC=file\n")
    env = EnvFile({"A": "environment", "B": ""}, tmp_path / ".env")
    assert [env.get(name) for name in "ABCD"] == ["environment", "", "file", None]
    assert set(env) == {"A", "B", "C"} and len(env) == 3


def test_a_change_is_seen_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    env = EnvFile({}, file)
    assert env.get("A") is None
    file.write_text("A=1")
    assert env.get("A") == "1"
    file.write_text("A=22")
    assert env.get("A") == "22"
    replaced = tmp_path / "new"
    replaced.write_text("A=33")
    replaced.replace(file)
    assert env.get("A") == "33"
    file.unlink()
    assert env.get("A") is None


def test_a_file_that_cannot_be_read_counts_for_nothing_and_is_told_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"A=canary\xff\n")
    with caplog.at_level(logging.WARNING):
        assert EnvFile({}, file).get("A") is None
        file.write_text("canary line\n" + "x" * 1024**2)
        assert EnvFile({}, file).get("A") is None
        file.unlink()
        file.mkdir()
        assert EnvFile({}, file).get("A") is None
    assert ".env cannot be read" in caplog.text and "canary" not in caplog.text


def test_a_strange_line_is_told_by_its_number_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".env").write_text("A=1\ncanary-without-equals\n")
    with caplog.at_level(logging.WARNING):
        assert EnvFile({}, tmp_path / ".env").get("A") == "1"
    assert "line 2 of .env" in caplog.text and "canary" not in caplog.text


def test_nothing_of_it_reaches_programs_that_are_started(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FERRULE_TEST_CANARY=secret\n")
    assert EnvFile(os.environ, tmp_path / ".env")["FERRULE_TEST_CANARY"] == "secret"
    seen = subprocess.run(
        [sys.executable, "-c", "import os; print(os.environ)"], capture_output=True, text=True, check=True
    )
    assert "FERRULE_TEST_CANARY" not in seen.stdout and "FERRULE_TEST_CANARY" not in os.environ


def test_its_values_are_not_in_what_is_printed_of_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=canary\n")
    env = EnvFile({"B": "canary"}, tmp_path / ".env")
    assert env["A"] == "canary" and "canary" not in repr(env)


@in_event_loop
async def test_a_variable_that_is_not_set_is_known_to_be_missing() -> None:
    """AML-63, AML-72."""
    source = EnvironmentSource({"A": "x", "B": ""}, make_clouds({}))
    refs = [SecretRef(source="env", name=name) for name in "ABC"]
    assert [source.is_missing(ref) for ref in refs] == [False, True, True]
    with pytest.raises(SecretUnavailable, match="variable C is not set"):
        await source.fetch(refs[2])
