"""One report with everything that is hard to show, and the files it speaks of."""

from __future__ import annotations

from ferrule.contracts.reporter import ReportContext
from ferrule.contracts.rule import RuleInfo
from ferrule.model.diagnostic import Diagnostic, Report, Severity, summarise

LONG = "description: " + "words, " * 60 + "and a MISTAKE here, " + "more words, " * 60
FILES = {
    "tools/plain.tool.md": '---\nspec_version: 1.2\ntool_id: "Send Mail"\nmeta:\n  name: x\n---\n',
    "tools/odd: name, 100%.yaml": f"key:\tvalue\n名前: 値段 wrong\r\n{LONG}\ne\u0301te\u0301: wrong\nbell: \x07 \x1b[31m wrong\n",
    "tools/multi.json": '{\n  "tools": [\n    1\n  ]\n}\n',
}


def _found(
    rule: str,
    severity: Severity,
    file: str,
    span: tuple[int, int, int, int],
    message: str,
    path: str = "",
    hint: str | None = None,
) -> Diagnostic:
    line, column, end_line, end_column = span
    url = f"https://ferrule.example/rules/{rule.lower()}"
    return Diagnostic(rule, severity, path, file, line, column, end_line, end_column, message, hint, url)


def _spot(text: str, word: str, line: int) -> tuple[int, int, int, int]:
    column = text.split("\n")[line - 1].index(word) + 1
    return line, column, line, column + len(word)


_ODD = "tools/odd: name, 100%.yaml"
DIAGNOSTICS = (
    _found("FER-1", Severity.ERROR, "tools/gone.json", (1, 1, 1, 1), "the file cannot be read"),
    _found("FER-2", Severity.WARNING, "tools/multi.json", (2, 3, 4, 4), "no list of tools", "tools"),
    _found("FER-3", Severity.INFO, _ODD, _spot(FILES[_ODD], "value", 1), "after a tab", "key"),
    _found("FER-3", Severity.WARNING, _ODD, _spot(FILES[_ODD], "wrong", 2), "after wide characters", "名前"),
    _found("FER-3", Severity.ERROR, _ODD, _spot(FILES[_ODD], "MISTAKE", 3), "in a long line", "description"),
    _found("FER-3", Severity.ERROR, _ODD, _spot(FILES[_ODD], "wrong", 4), "after combining characters", "a.b[0]"),
    _found(
        "FER-4", Severity.ERROR, _ODD, _spot(FILES[_ODD], "wrong", 5), "line one\nline two: 100%, <b>\x1b</b>", "bell"
    ),
    _found("FER-5", Severity.ERROR, "tools/plain.tool.md", (1, 1, 1, 1), "`version` is missing", "version"),
    _found(
        "FER-5",
        Severity.ERROR,
        "tools/plain.tool.md",
        (2, 15, 2, 18),
        "`spec_version` must be text",
        "spec_version",
        hint='quote it: "1.2"',
    ),
    _found("FER-5", Severity.ERROR, "tools/plain.tool.md", (3, 10, 3, 21), "not an id", "tool_id", "no spaces"),
)
PAGES = tuple(
    RuleInfo(f"FER-{number}", f"problem-{number}", Severity.ERROR, f"What rule {number} asks for.", "Why: it matters.")
    for number in range(1, 6)
)
REPORT = Report(DIAGNOSTICS, summarise(DIAGNOSTICS, files=12, tools=1040, seconds=0.0512))
CLEAN = Report((), summarise((), files=12, tools=1, seconds=0.02))


def surroundings(*, has_colour: bool = False, is_strict: bool = False) -> ReportContext:
    return ReportContext(
        text_of=FILES.get,
        pages=lambda: PAGES,
        page_address=lambda code: f"https://ferrule.example/rules/{code.lower()}",
        version="1.2.3",
        is_strict=is_strict,
        has_colour=has_colour,
    )
