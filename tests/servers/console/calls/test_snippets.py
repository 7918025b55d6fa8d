"""Calls to paste elsewhere: the exact input, whatever it is, and never a secret."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ferrule.servers.console.calls.snippets import one_line, write_body, write_curl, write_mcp, write_python

HOSTILE = [
    "it's",
    '"; rm -rf ~ #',
    "$(touch pwned) `touch pwned` ${HOME} $HOME",
    "line\nbreak\r\nand\ttab",
    "JSON\nJSON",
    "\\",
    "!history",
    "\u202egnp.exe \u2028 \x7f \x00 \U0001f600",
    "'''\"\"\"",
    "%s {} {0} %(x)s",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_body_is_one_ascii_line_that_says_the_same(text: str) -> None:
    arguments = {text: [text, {"n": 1}]}
    for written in (json.dumps(arguments, indent=2), json.dumps(arguments, indent=2, ensure_ascii=False)):
        body = write_body(text, written)
        assert json.loads(body) == {"tool": text, "arguments": arguments}
        assert all(" " <= letter <= "~" for letter in body)
        assert json.loads(write_mcp(text, written))["params"] == {"name": text, "arguments": arguments}


def test_numbers_stay_as_they_were_typed() -> None:
    written = '{\n\t"a": 1.10,\r\n  "b": 12345678901234567890, "c": 1E2\n}'
    assert one_line(written) == '{ "a": 1.10, "b": 12345678901234567890, "c": 1E2 }'


@pytest.mark.parametrize("text", HOSTILE)
def test_a_shell_hands_the_command_over_as_it_is(text: str, tmp_path: Path) -> None:
    """curl is a program here that shows what it was given."""
    fake = tmp_path / "bin" / "curl"
    fake.parent.mkdir()
    show = "import json, sys\nprint(json.dumps([sys.argv[1:], sys.stdin.read()]))"
    fake.write_text(f"#!{sys.executable}\n{show}\n")
    fake.chmod(0o755)
    (tmp_path / "the token").write_text("frl_secret\n")
    written = json.dumps({"x": text}, indent=2, ensure_ascii=False)
    command = write_curl("http://127.0.0.1:1", "the token", text, written)
    assert "frl_secret" not in command
    given, sent = shell(command, tmp_path)
    assert given[:3] == ["--silent", "--show-error", "http://127.0.0.1:1/v1/calls"]
    assert "Authorization: Bearer frl_secret" in given
    assert json.loads(sent) == {"tool": text, "arguments": {"x": text}}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bin", "the token"]


def shell(command: str, folder: Path) -> Any:
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    words = [shutil.which("sh") or "/bin/sh", "-c", command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=20, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_program_holds_the_input_as_text_alone(text: str) -> None:
    written = json.dumps({"x": text}, indent=2, ensure_ascii=False)
    program = write_python("http://127.0.0.1:1", "the token", text, written)
    known: dict[str, Any] = {}
    line = next(line for line in program.splitlines() if line.startswith("call = "))
    exec(compile(line, "snippet", "exec"), known)
    compile(program, "snippet", "exec")
    assert json.loads(known["call"]) == {"tool": text, "arguments": {"x": text}}
