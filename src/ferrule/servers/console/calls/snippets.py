"""A call as something to paste elsewhere: a command, a program, a message. It holds the exact input, and never a credential."""

from __future__ import annotations

import json
import re
import shlex

_BREAK = re.compile(r"\s*[\r\n]\s*", re.ASCII)
_ODD = re.compile(r"[^ -~]")


def one_line(written: str) -> str:
    """Valid JSON on one line and in ASCII, every number as it was typed. Line breaks stand between members only, and other
    signs in texts only: there they are escaped, so that nothing on a screen looks like what it is not."""
    return _ODD.sub(_escaped, _BREAK.sub(" ", written).strip())


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    return " " if letter == "\t" else json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"


def body_of(tool: str, written: str) -> str:
    """What is sent to `POST /v1/calls`."""
    return f'{{"tool": {one_line(json.dumps(tool))}, "arguments": {one_line(written)}}}'


def as_curl(url: str, token_file: str, tool: str, written: str) -> str:
    """A command for a POSIX shell. Nothing in a quoted here-document means anything to it."""
    return (
        f"curl --silent --show-error {shlex.quote(url + '/v1/calls')} \\\n"
        f'  --header "Authorization: Bearer $(cat {shlex.quote(token_file)})" \\\n'
        "  --header 'Content-Type: application/json' \\\n"
        f"  --data-binary @- <<'JSON'\n{body_of(tool, written)}\nJSON\n"
    )


def as_python(url: str, token_file: str, tool: str, written: str) -> str:
    """A program that needs nothing but Python."""
    return f"""\
import json
import urllib.error
import urllib.request
from pathlib import Path

token = Path({token_file!a}).read_text().strip()
call = {body_of(tool, written)!a}
request = urllib.request.Request(
    {f"{url}/v1/calls"!a},
    call.encode(),
    {{"Authorization": f"Bearer {{token}}", "Content-Type": "application/json"}},
)
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as refused:  # its body tells why
    answer = refused
print(json.dumps(json.load(answer), indent=2))
"""


def as_mcp(tool: str, written: str) -> str:
    """The message that an MCP client sends."""
    params = f'{{"name": {one_line(json.dumps(tool))}, "arguments": {one_line(written)}}}'
    return f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}\n'
