"""A call as text to paste elsewhere: a command, a program, a message. It holds the exact input, and never a credential.

`catalog/trial_calls` stands above it.
"""

from __future__ import annotations

import json
import re
import shlex

_BREAK = re.compile(r"\s*[\r\n]\s*", re.ASCII)
_ODD = re.compile(r"[^ -~]")


def one_line(written: str) -> str:
    """Returns valid JSON on one line and in ASCII, with every number as it was typed.

    Line breaks occur between members only, and other characters only inside texts: there they are escaped, so that no
    character on a screen looks like another.
    """
    return _ODD.sub(_escape_letter, _BREAK.sub(" ", written).strip())


def _escape_letter(found: re.Match[str]) -> str:
    letter = found[0]
    return " " if letter == "\t" else json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"


def write_body(tool: str, written: str) -> str:
    """Returns the body of `POST /v1/calls`."""
    return f'{{"tool": {one_line(json.dumps(tool))}, "arguments": {one_line(written)}}}'


def write_curl(url: str, token_file: str, tool: str, written: str) -> str:
    """Returns a command for a POSIX shell, which expands nothing inside a quoted here-document."""
    return (
        f"curl --silent --show-error {shlex.quote(url + '/v1/calls')} \\\n"
        f'  --header "Authorization: Bearer $(cat {shlex.quote(token_file)})" \\\n'
        "  --header 'Content-Type: application/json' \\\n"
        f"  --data-binary @- <<'JSON'\n{write_body(tool, written)}\nJSON\n"
    )


def write_python(url: str, token_file: str, tool: str, written: str) -> str:
    """Returns a program that needs only Python."""
    return f"""\
import json
import urllib.error
import urllib.request
from pathlib import Path

token = Path({token_file!a}).read_text().strip()
call = {write_body(tool, written)!a}
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


def write_mcp(tool: str, written: str) -> str:
    """Returns the message that an MCP client sends."""
    params = f'{{"name": {one_line(json.dumps(tool))}, "arguments": {one_line(written)}}}'
    return f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}\n'
