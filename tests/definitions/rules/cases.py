"""Reads rule tests written in Markdown.

A file holds cases, each under a `##` heading. Under it stand prose and fenced blocks:

    ~~~ tools/send-mail.tool.md          a whole file, written as it stands
    ~~~ edit tools/send-mail.tool.md     a file of tests/definitions/rules/bases, changed line by line:
        - old line                           this line of the base is replaced (compared without outer spaces) …
        + new line                           … by these (kept as written after `+ `)
        = unchanged line                     this line stays; used to mark an expectation on it
    ~~~ options                          `now: 2026-05-01`, `compat: true`, `folder: true`, `alone: true`

The expected diagnostics stand at the end of the offending line, after ` <-- `: `tool_id: ab <-- AML-9 error`; several
are separated by commas. Every diagnostic must be expected and every expectation met. One file is checked alone, several as
a workspace, unless the options say otherwise.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
_FENCE = re.compile(r"^~~~ ?(.*)$")
_MARK = re.compile(r"[ \t]*<-- ([A-Z]+-\d+ \w+(?:, ?[A-Z]+-\d+ \w+)*)$")


class Expected(NamedTuple):
    file: str
    line: int
    rule: str
    severity: str


class Case(NamedTuple):
    name: str
    files: dict[str, str]
    expected: list[Expected]
    options: dict[str, str]


def read_cases(path: Path) -> list[Case]:
    """All cases of one Markdown file."""
    cases: list[Case] = []
    title: str | None = None
    blocks: list[tuple[str, list[str]]] = []
    block: list[str] | None = None
    for line in path.read_text(encoding="utf-8").split("\n"):
        fence = _FENCE.match(line)
        if block is not None:
            if line == "~~~":
                block = None
            else:
                block.append(line)
        elif fence and fence[1]:
            block = []
            blocks.append((fence[1], block))
        elif line.startswith("## "):
            if title is not None:
                cases.append(_case(f"{path.stem}: {title}", blocks))
            title, blocks = line[3:].strip(), []
    if title is not None:
        cases.append(_case(f"{path.stem}: {title}", blocks))
    return cases


def _case(name: str, blocks: list[tuple[str, list[str]]]) -> Case:
    files: dict[str, str] = {}
    expected: list[Expected] = []
    options: dict[str, str] = {}
    for info, lines in blocks:
        if info == "options":
            for line in filter(None, lines):
                key, _, value = line.partition(": ")
                options[key] = value
            continue
        if info.startswith("edit "):
            info = info.removeprefix("edit ").strip()
            info, _, base = info.partition(" from ")
            lines = _edited(name, (HERE / "bases" / (base or info)).read_text(encoding="utf-8").split("\n"), lines)
        plain = []
        for number, line in enumerate(lines, start=1):
            mark = _MARK.search(line)
            if mark:
                line = line[: mark.start()]
                for item in mark[1].split(","):
                    rule, severity = item.split()
                    expected.append(Expected(info, number, rule, severity))
            plain.append(line)
        files[info] = "\n".join(plain) if plain and plain[-1] == "" else "\n".join(plain) + "\n"
    assert files, f"{name}: no file in this case"
    return Case(name, files, expected, options)


def _edited(name: str, base: list[str], edits: list[str]) -> list[str]:
    lines = list(base)
    at = 0
    for edit in edits:
        if not edit.strip():
            continue
        sign, text = edit[:2], edit[2:]
        if sign == "+ " or edit == "+":
            lines.insert(at, text)
            at += 1
            continue
        wanted = _MARK.sub("", text).strip()
        found = next((index for index in range(len(lines)) if lines[index].strip() == wanted and index >= at), None)
        if found is None:
            found = next((index for index in range(len(lines)) if lines[index].strip() == wanted), None)
        assert found is not None, f"{name}: the base has no line {wanted!r}"
        if sign == "- ":
            del lines[found]
            at = found
        else:
            assert sign == "= ", f"{name}: an edit begins with '- ', '+ ' or '= ': {edit!r}"
            mark = _MARK.search(text)
            lines[found] += mark[0] if mark else ""
            at = found + 1
    return lines
