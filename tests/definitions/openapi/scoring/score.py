"""Takes every document of the corpus all the way: imported, checked, opened, called against a service made from it. Then counts.

python -m tests.definitions.openapi.scoring.score            the table
python -m tests.definitions.openapi.scoring.score --write    keep it in score.json, for docs/reference/openapi-score.md
python -m tests.definitions.openapi.scoring.score NAME…      some documents, and what went wrong with them
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ferrule.app.imports.openapi import OpenApiImport, OperationChoice, import_document
from ferrule.model.result import Result
from ferrule.model.tool import Tool
from ferrule.testing import memory_app
from ferrule.workspace.workspace import Workspace
from tests.definitions.openapi.scoring.documents import MANY, METHODS, Document, documents
from tests.definitions.openapi.scoring.sampling import Sampler
from tests.definitions.openapi.scoring.server import SECRET, FakeService, running_service
from tests.runtime.executors.rest.server import settings
from tests.runtime.executors.rest.tools import ALLOW

KEPT = Path(__file__).parent / "score.json"
CALLED = 24
"""How many tools of a document are called at most."""
SEEDS = ((0, 0.0), (1, 1.0), (2, 0.5))
"""Seeds of arguments, with the share of members that are given though nobody asks for them."""
_ADDRESS = re.compile(r"((?:base_url|x-token-url):\s*[\"']?)https?://[^/\"'\s]+")


class Score(msgspec.Struct, frozen=True):
    """What became of one document."""

    document: str
    version: str
    operations: int
    tools: int
    called: int
    """How many tools were called."""
    callable: int
    """How many of them were answered every time, with a result that their output schema accepts."""
    errors: int
    """Told by the importer."""
    warnings: int
    check_errors: int
    """Found by `ferrule check` in what was written."""
    check_warnings: int


class DocumentScore(msgspec.Struct):
    """A score, and everything that was said on the way."""

    score: Score
    diagnostics: list[str]
    findings: list[str]
    """Of `ferrule check`, as `rule severity`."""
    failures: list[str]


def operations_in(value: Any) -> int:
    """How many operations a document has, counted plainly."""
    paths = value.get("paths") if isinstance(value, dict) else None
    items = paths.items() if isinstance(paths, dict) else ()
    return sum(
        isinstance(item.get(method), dict)
        for path, item in items
        if isinstance(item, dict) and path.startswith("/")
        for item in [_item(value, item)]
        for method in METHODS
    )


def _item(value: Any, item: dict[str, Any]) -> dict[str, Any]:
    """A path, behind a reference."""
    name = str(item.get("$ref", "")).removeprefix("#/components/pathItems/")
    found = ((value.get("components") or {}).get("pathItems") or {}).get(name)
    return found if isinstance(found, dict) else item


async def score_document(document: Document) -> DocumentScore:
    """Take one document all the way."""
    value = document.value
    taken = import_document(document.data, f"https://docs.example/{document.name}", OperationChoice(date="2026-01-01"))
    diagnostics = [f"{each.line} {each.rule} {each.severity.value} {each.message}" for each in taken.diagnostics]
    report = _report(taken)
    findings = [
        f"{each.file} {each.rule} {each.severity.value} {each.path}: {each.message}" for each in report.diagnostics
    ]
    called = 0
    failures: list[str] = []
    failed: set[str] = set()
    errors = [each for each in report.diagnostics if each.severity.value == "error"]
    if isinstance(value, dict) and taken.files and not errors:
        called, failures, failed = await _called(value, taken)
    counts = taken.score
    score = Score(
        document.name,
        str((value or {}).get("openapi") or (value or {}).get("swagger") or "") if isinstance(value, dict) else "",
        operations_in(value),
        len(taken.files),
        called,
        called - len(failed),
        counts.errors,
        counts.warnings,
        len(errors),
        sum(each.severity.value == "warning" for each in report.diagnostics),
    )
    return DocumentScore(score, diagnostics, findings, failures)


def _report(taken: OpenApiImport) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "ferrule.toml").write_text('namespace = "corpus"\n')
        for name, text in taken.files.items():
            (root / name).write_text(text, encoding="utf-8", newline="")
        return Workspace.open(root).check([str(root)])


async def _called(value: dict[str, Any], taken: OpenApiImport) -> tuple[int, list[str], set[str]]:
    """How many tools were called, what went wrong, and with which."""
    failures: list[str] = []
    failed: set[str] = set()
    async with running_service(value) as (service, url):
        texts = {name: _ADDRESS.sub(lambda match: f"{match[1]}{url}", text) for name, text in taken.files.items()}
        environment = {name: SECRET for text in texts.values() for name in _variables(text)}
        async with memory_app(definitions=texts, settings=settings(), environment=environment, policy=ALLOW) as app:
            surface = app.surface(defer_above=2 * MANY)
            entries = sorted(surface.surface.entries.items())
            if len(entries) > CALLED:
                entries = sorted(random.Random(7).sample(entries, CALLED))
            for name, entry in entries:
                for seed, share in SEEDS:
                    problem = await _call(surface, name, entry.tool, seed, share, service)
                    if problem:
                        failures.append(f"{name}: {problem}")
                        failed.add(name)
    return len(entries), failures, failed


async def _call(surface: Any, name: str, tool: Tool, seed: int, share: float, service: FakeService) -> str:
    """Call a tool once; what went wrong."""
    arguments = arguments_of(tool, seed, share)
    if arguments is None:
        return "no arguments could be made for its schema"
    service.refusals.clear()
    result = await surface.call(name, arguments, wait=20)
    if not isinstance(result, Result):
        return f"{arguments!r} gave {result!r}"
    if service.refusals:
        return f"{json.dumps(arguments, ensure_ascii=False)[:300]} was refused: {service.refusals[0]}"
    if result.error is not None:
        return f"{json.dumps(arguments, ensure_ascii=False)[:300]}: {result.error.error_class}: {result.error.message}"
    return ""


def arguments_of(tool: Tool, seed: int, share: float) -> dict[str, Any] | None:
    """Arguments that fit the tool's schema; None when none could be made."""
    schema = msgspec.json.decode(tool.input_schema)
    validator = Draft202012Validator(schema)
    for attempt in range(40):
        value = Sampler(f"{seed}/{attempt}", share).value(schema)
        if isinstance(value, dict) and validator.is_valid(value):
            return value
    return None


def _variables(text: str) -> Iterator[str]:
    """The environment variables that a definition names, roughly: too many do no harm."""
    yield from re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", text)


def score_all(names: list[str] | None = None) -> list[DocumentScore]:
    """All documents, or some."""

    async def main() -> list[DocumentScore]:
        return [await score_document(each) for each in documents() if not names or each.name in names]

    return asyncio.run(main())


def load_scores() -> dict[str, Score]:
    """What was kept last, by document."""
    return {each.document: each for each in msgspec.json.decode(KEPT.read_bytes(), type=list[Score])}


def main() -> int:
    """The command line."""
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    told = score_all(names)
    for each in told:
        print(" ".join(f"{key}={value}" for key, value in msgspec.structs.asdict(each.score).items()))
        for line in (*each.diagnostics, *each.findings, *each.failures) if names else each.failures[:3]:
            print("   ", line[:400])
    if "--write" in sys.argv:
        lines = ",\n".join(json.dumps(msgspec.structs.asdict(each.score)) for each in told)
        KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    totals = [sum(getattr(each.score, key) for each in told) for key in ("operations", "tools", "called", "callable")]
    print(f"{len(told)} documents, {MANY} of the operations in one of them:", *totals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
