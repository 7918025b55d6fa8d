"""Reads the fenced blocks of a Markdown page that can be run.

```console            `$ command` lines and the output expected below each; `…` stands for any text, alone for any lines
```python             run in order, in one namespace per page
```toml ferrule.toml  written to that file
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_TIME = re.compile(r"\b\d+\.\d+ s\b")
"""How long something took, which differs from run to run."""


class Block(NamedTuple):
    language: str
    file: str
    """The file to write it to, if the fence names one."""
    lines: tuple[str, ...]
    line: int


class Step(NamedTuple):
    """One command of a console block and what it should print."""

    command: str
    expected: tuple[str, ...]


def blocks(page: Path) -> list[Block]:
    """Every fenced block, in order."""
    found: list[Block] = []
    opened: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if opened is None and line.startswith("```"):
            language, _, file = line[3:].partition(" ")
            opened, lines = (language, file.strip(), number), []
        elif opened is not None and line == "```":
            found.append(Block(opened[0], opened[1], tuple(lines), opened[2]))
            opened = None
        elif opened is not None:
            lines.append(line)
    return found


def steps(block: Block) -> list[Step]:
    """The commands of a console block."""
    found: list[Step] = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append(Step(line[2:], ()))
        else:
            found[-1] = Step(found[-1].command, (*found[-1].expected, line))
    return found


def matches(expected: tuple[str, ...], output: str) -> bool:
    """True when the output is what the page shows. A page that shows nothing expects nothing in particular."""
    if not expected:
        return True
    pattern = ""
    output = _TIME.sub("T s", output)
    for line in (_TIME.sub("T s", line) for line in expected):
        pattern += r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r"[ \t]*\n"
    return re.fullmatch(pattern, output.rstrip() + "\n") is not None
