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

    def write(self, report: Report, surroundings: ReportContext) -> Iterator[str]:
        """One SARIF log with one run."""
        codes = sorted({diagnostic.rule for diagnostic in report.diagnostics})
        positions = {code: position for position, code in enumerate(codes)}
        pages = {page.code: page for page in surroundings.pages()} if codes else {}
        driver = {
            "name": "ferrule",
            "version": surroundings.version,
            "informationUri": HOME,
            "rules": [_rule(code, pages.get(code), surroundings) for code in codes],
        }
        fingerprints = _Fingerprints(surroundings)
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "invocations": [{"executionSuccessful": True}],
            "results": [_result(found, positions[found.rule], fingerprints) for found in report.diagnostics],
        }
        log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
        yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode()
        yield "\n"


def _rule(code: str, page: RuleInfo | None, surroundings: ReportContext) -> JsonObject:
    described: JsonObject = {"id": code, "helpUri": surroundings.page_address(code)}
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


def _result(diagnostic: Diagnostic, position: int, fingerprints: _Fingerprints) -> JsonObject:
    text = diagnostic.message if diagnostic.hint is None else f"{diagnostic.message}\nhelp: {diagnostic.hint}"
    region = {
        "startLine": diagnostic.line,
        "startColumn": diagnostic.column,
        "endLine": diagnostic.end_line,
        "endColumn": _end_column(diagnostic),
    }
    place = {"physicalLocation": {"artifactLocation": {"uri": _address(diagnostic.file)}, "region": region}}
    return {
        "ruleId": diagnostic.rule,
        "ruleIndex": position,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [place | ({"logicalLocations": [_logical(diagnostic.path)]} if diagnostic.path else {})],
        "partialFingerprints": {"ferrule/v1": fingerprints.of(diagnostic)},
    }


def _end_column(diagnostic: Diagnostic) -> int:
    if diagnostic.end_line > diagnostic.line:
        return max(diagnostic.end_column, 1)
    return max(diagnostic.end_column, diagnostic.column)


def _logical(path: str) -> dict[str, str]:
    return {"fullyQualifiedName": path}


def _address(file: str) -> str:
    """A file's name as a URI: relative to where the check ran, or absolute when it is outside."""
    return PurePath(file).as_uri() if PurePath(file).is_absolute() else quote(file)


class _Fingerprints:
    """Identity of a result that does not depend on line numbers; equal ones are told apart by counting."""

    def __init__(self, surroundings: ReportContext) -> None:
        self._seen: Counter[str] = Counter()
        self._lines = lru_cache(maxsize=4)(lambda file: (surroundings.text_of(file) or "").split("\n"))

    def of(self, diagnostic: Diagnostic) -> str:
        lines = self._lines(diagnostic.file)
        line = lines[diagnostic.line - 1].strip() if 0 < diagnostic.line <= len(lines) else ""
        identity = "\0".join((diagnostic.rule, diagnostic.file, diagnostic.path, line))
        digest = sha256(identity.encode(errors="surrogatepass")).hexdigest()[:32]
        self._seen[digest] += 1
        return f"{digest}:{self._seen[digest]}"


REPORTER = SarifReporter()
