"""The page of `--format json`, from the classes it is written from."""

from __future__ import annotations

from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.report import Summary
from scripts.reference.fields import cell, fields_of

TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "str | None": "string or null",
    "Severity": " / ".join(f"`{severity.value}`" for severity in Severity),
}


def page() -> str:
    """The two objects of the output."""
    lines = [
        "# JSON output",
        "",
        "`ferrule check --format json` and `ferrule diff --format json` print one object: `diagnostics`, a list in",
        "reading order, and `summary`. Keys are only ever added, never renamed or removed.",
        "",
        "## diagnostics[]",
        "",
        *_table(Diagnostic),
        "",
        "## summary",
        "",
        *_table(Summary),
        "",
    ]
    return "\n".join(lines)


def _table(cls: type) -> list[str]:
    rows = [
        f"| `{field.name}` | {TYPES.get(field.type, cell(field.type))} | {cell(field.text)} |"
        for field in fields_of(cls)
    ]
    return ["| key | type | |", "|---|---|---|", *rows]
