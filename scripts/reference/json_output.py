"""The page of `--format json` and `--report json`, from the classes they are written from."""

from __future__ import annotations

from ferrule.app.export import TokenCount
from ferrule.app.imports.outcome import ConflictEntry, FileEntry, ImportReport, LeftEntry, UpstreamEntry
from ferrule.cli.export import ExportReport, OmittedTool
from ferrule.cli.show.conversion_report import ConversionReport, ConversionSummary, LossEntry
from ferrule.cli.show.gen_report import GenFile, GenNote, GenReport, GenReports, GenUnread
from ferrule.model.diagnostic import Diagnostic, Severity, Summary
from ferrule.servers.api.field_docs import fields_of
from scripts.reference.cells import cell

TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "str | None": "string or null",
    "int | None": "integer or null",
    "bool": "boolean",
    "dict[str, str]": "object of strings",
    "dict[str, int]": "object of integers",
    "tuple[str, ...]": "list of strings",
    "tuple[LossEntry, ...]": "list of losses",
    "tuple[OmittedTool, ...]": "list",
    "tuple[Diagnostic, ...]": "list of diagnostics",
    "tuple[FileEntry, ...]": "list of files",
    "tuple[ConflictEntry, ...]": "list of conflicts",
    "tuple[UpstreamEntry, ...]": "list of changes",
    "tuple[LeftEntry, ...]": "list",
    "tuple[GenReport, ...]": "list",
    "tuple[GenFile, ...]": "list of files",
    "tuple[GenNote, ...]": "list of notes",
    "tuple[GenUnread, ...]": "list",
    "ConversionSummary": "object",
    "TokenCount": "object",
    "Severity": " / ".join(f"`{severity.value}`" for severity in Severity),
}


def page() -> str:
    """The objects of the output."""
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
        "# Reports of conversions",
        "",
        "`ferrule convert --report json` prints one object on standard error, or with `--out` on standard output.",
        "",
        *_table(ConversionReport),
        "",
        "## losses[]",
        "",
        *_table(LossEntry),
        "",
        "## summary of a conversion",
        "",
        *_table(ConversionSummary),
        "",
        "# Reports of exports",
        "",
        "`ferrule export --report json` prints one object on standard error, or with `--out` on standard output.",
        "",
        *_table(ExportReport),
        "",
        "## tokens",
        "",
        *_table(TokenCount),
        "",
        "## left_out[]",
        "",
        *_table(OmittedTool),
        "",
        "# Reports of imports",
        "",
        "`ferrule import openapi --report json`, and the same of `python`, `openai`, `anthropic` and `gemini`, prints one",
        "object: `imports`, a list with a report for each import that was made.",
        "",
        *_table(ImportReport),
        "",
        "## files[]",
        "",
        *_table(FileEntry),
        "",
        "## conflicts[]",
        "",
        *_table(ConflictEntry),
        "",
        "## upstream[]",
        "",
        *_table(UpstreamEntry),
        "",
        "## left_out[] of an import",
        "",
        *_table(LeftEntry),
        "",
        "# Reports of stubs",
        "",
        "`ferrule gen --json` prints one object.",
        "",
        *_table(GenReports),
        "",
        "## runs[]",
        "",
        *_table(GenReport),
        "",
        "## files[] of stubs",
        "",
        *_table(GenFile),
        "",
        "## notes[]",
        "",
        *_table(GenNote),
        "",
        "## unread[]",
        "",
        *_table(GenUnread),
        "",
    ]
    return "\n".join(lines)


def _table(cls: type) -> list[str]:
    rows = [
        f"| `{field.name}` | {TYPES.get(field.type, cell(field.type))} | {cell(field.text)} |"
        for field in fields_of(cls)
    ]
    return ["| key | type | |", "|---|---|---|", *rows]
