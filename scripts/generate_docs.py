"""Writes docs/reference from the sources, so that it cannot disagree with them.

python scripts/generate_docs.py            write
python scripts/generate_docs.py --check    exit 1 if anything is stale, naming it
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # so that `python scripts/generate_docs.py` finds its own package

from ferrule.servers.api.openapi import encode_openapi
from scripts.reference import (
    benchmark,
    commands,
    coverage,
    errors,
    events,
    json_output,
    lifecycle,
    openapi_score,
    parts,
    provider_schemas,
    rules,
    settings,
    stubs_compared,
)

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
MARK = "<!-- Written by scripts/generate_docs.py"
NOTE = MARK + " from {source}. Edit that, then run `make docs`. -->\n\n"
PAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "settings.md": ("src/ferrule/settings.py", settings.page),
    "commands.md": ("src/ferrule/cli", commands.page),
    "coverage.md": ("tests/spec/requirements.toml", coverage.page),
    "errors.md": ("src/ferrule/model/failure.py and error_codes.py", errors.page),
    "events.md": ("src/ferrule/model/event.py", events.page),
    "json-output.md": ("src/ferrule/model", json_output.page),
    "lifecycle.md": ("src/ferrule/model/lifecycle.py and src/ferrule/runtime/pipeline/phases", lifecycle.page),
    "openapi-score.md": ("tests/definitions/openapi/scoring/score.json", openapi_score.page),
    "parts.md": ("src/ferrule/contracts", parts.page),
    "provider-schemas.md": ("src/ferrule/schema/fitting/profiles.py", provider_schemas.page),
    "stubs-compared.md": ("bench/stub_faults.json", stubs_compared.page),
    "benchmark.md": ("bench/results.json", benchmark.page),
}


def pages() -> dict[str, str]:
    """Every generated page: path below docs/reference, and its text."""
    written = {name: NOTE.format(source=source) + make() for name, (source, make) in PAGES.items()}
    for name, text in rules.pages().items():
        written[f"rules/{name}"] = NOTE.format(source="the rules' own documentation") + text
    written["openapi.json"] = encode_openapi().decode()
    return written


def stale(written: dict[str, str]) -> list[str]:
    """Names of pages on disk that differ from what the sources say, and of pages nothing generates any more."""
    differing = [name for name, text in written.items() if _read(REFERENCE / name) != text]
    known = {REFERENCE / name for name in written}
    orphans = [path for path in REFERENCE.rglob("*.md") if path not in known and (_read(path) or "").startswith(MARK)]
    return sorted(differing + [str(path.relative_to(REFERENCE)) for path in orphans])


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is stale")
    options = parser.parse_args()
    written = pages()
    if options.check:
        for name in (differing := stale(written)):
            print(f"docs/reference/{name} is stale: run `make docs`")
        return int(bool(differing))
    for name, text in written.items():
        path = REFERENCE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(written)} pages in docs/reference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
