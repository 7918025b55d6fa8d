"""SARIF 2.1.0, for code scanning: rules with their pages, regions, and fingerprints that survive moved lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePath
from urllib.parse import quote

import msgspec

from ferrule.contracts.reporter import ReportContext
from ferrule.contracts.rule import RuleInfo
from ferrule.model.diagnostic import Diagnostic, Report, Severity
from ferrule.model.value import JsonObject

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
HOME = "https://github.com/ferrule-dev/ferrule"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class SarifReporter:
    """For code scanning."""

    def write(self, report: Report, context: ReportContext) -> Iterator[str]:
        """Yields one SARIF log with one run."""
        codes = sorted({diagnostic.rule for diagnostic in report.diagnostics})
        positions = {code: position for position, code in enumerate(codes)}
        pages = {page.code: page for page in context.pages()} if codes else {}
        driver = {
            "name": "ferrule",
            "version": context.version,
            "informationUri": HOME,
            "rules": [_describe_rule(code, pages.get(code), context) for code in codes],
        }
        fingerprints = _Fingerprints(context)
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "invocations": [{"executionSuccessful": True}],
            "results": [_describe_result(found, positions[found.rule], fingerprints) for found in report.diagnostics],
        }
        log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
        yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode()
        yield "\n"


def _describe_rule(code: str, page: RuleInfo | None, context: ReportContext) -> JsonObject:
    described: JsonObject = {"id": code, "helpUri": context.page_address(code)}
    if page is not None:
        text = f"{page.summary}\n\n{page.details}".strip()
        described |= {
            "name": page.name,
            "shortDescription": {"text": page.summary},
            "fullDescription": {"text": page.summary},
            "help": {"text": text},
            "defaultConfiguration": {"level": _LEVELS[page.severity]},
            "properties": {"tags": [code.partition("-")[0].lower()]},
        }
    return described


def _describe_result(diagnostic: Diagnostic, position: int, fingerprints: _Fingerprints) -> JsonObject:
    text = diagnostic.message if diagnostic.hint is None else f"{diagnostic.message}\nhelp: {diagnostic.hint}"
    region = {
        "startLine": diagnostic.line,
        "startColumn": diagnostic.column,
        "endLine": diagnostic.end_line,
        "endColumn": _find_end_column(diagnostic),
    }
    place = {"physicalLocation": {"artifactLocation": {"uri": _format_uri(diagnostic.file)}, "region": region}}
    logical = {"logicalLocations": [{"fullyQualifiedName": diagnostic.path}]} if diagnostic.path else {}
    return {
        "ruleId": diagnostic.rule,
        "ruleIndex": position,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [place | logical],
        "partialFingerprints": {"ferrule/v1": fingerprints.make_fingerprint(diagnostic)},
    }


def _find_end_column(diagnostic: Diagnostic) -> int:
    if diagnostic.end_line > diagnostic.line:
        return max(diagnostic.end_column, 1)
    return max(diagnostic.end_column, diagnostic.column)


def _format_uri(file: str) -> str:
    """Formats a file's name as a URI: relative to where the check ran, or absolute when it is outside."""
    return PurePath(file).as_uri() if PurePath(file).is_absolute() else quote(file)


class _Fingerprints:
    """Identities of results that do not depend on line numbers; equal ones are numbered."""

    def __init__(self, context: ReportContext) -> None:
        self._seen: Counter[str] = Counter()
        self._lines = lru_cache(maxsize=4)(lambda file: (context.text_of(file) or "").split("\n"))

    def make_fingerprint(self, diagnostic: Diagnostic) -> str:
        lines = self._lines(diagnostic.file)
        line = lines[diagnostic.line - 1].strip() if 0 < diagnostic.line <= len(lines) else ""
        identity = "\0".join((diagnostic.rule, diagnostic.file, diagnostic.path, line))
        digest = sha256(identity.encode(errors="surrogatepass")).hexdigest()[:32]
        self._seen[digest] += 1
        return f"{digest}:{self._seen[digest]}"


REPORTER = SarifReporter()
