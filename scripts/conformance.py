"""Runs MCP's official conformance suite against the fixture workspace in tests/conformance, served by `ferrule serve`.

    python scripts/conformance.py                      everything, with the totals of each run
    python scripts/conformance.py --only 2026-07-28    one run
    python scripts/conformance.py --serve --port 3000  only the fixture server, for a suite of your own

The suite and the Node it needs come from npm, by pinned versions, into `.venv/conformance`.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "tests/conformance/workspace"
EXPECTED = ROOT / "tests/conformance/expected.toml"
FOLDER = ROOT / ".venv/conformance"
NODE = {"node": "22.23.3"}
SUITE = {"@modelcontextprotocol/conformance": "0.2.0-alpha.12"}
EXTENSIONS = "extensions"
RUNS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", EXTENSIONS)
STATUSES = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO")
_RUN_SECONDS = 600
_AT_ONCE = 3
"""Scenarios of extensions that run at the same time: each is a process of its own, and mostly waits."""
_FOLDER_NAME = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


class NoSuite(Exception):
    """A program cannot be had here: there is no npm, or no registry."""


class Check(NamedTuple):
    """One check of the suite."""

    run: str
    scenario: str
    check: str
    status: str
    message: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Which check it is."""
        return (self.run, self.scenario, self.check)


class Report(NamedTuple):
    """What came of everything that was run."""

    checks: list[Check]
    problems: list[str]
    """Why this is no success; empty when it is one."""

    def totals(self) -> Iterator[str]:
        """One line for each run."""
        for run in RUNS:
            counts = Counter(check.status for check in self.checks if check.run == run)
            if counts:
                words = (f"{counts[status]} {word}" for status, word in zip(STATUSES, _WORDS, strict=True))
                yield f"{run:<12} {', '.join(words)}"


_WORDS = ("passed", "failed", "warnings", "skipped", "info")


def suite() -> list[str]:
    """The command of the suite, installed if need be. Raises NoSuite."""
    return node_program("conformance", SUITE)


def node_program(name: str, packages: dict[str, str]) -> list[str]:
    """The command of a program from npm, with the Node it needs; installed if need be, by its exact version. Raises NoSuite."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = {**NODE, **packages}
        missing = [f"{package}@{version}" for package, version in wanted.items() if _installed(package) != version]
        if missing:
            npm = shutil.which("npm")
            if npm is None:
                raise NoSuite("npm is not installed")
            command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(FOLDER), *missing]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False)
            if done.returncode:
                raise NoSuite(f"npm could not install it: {done.stderr.strip()[-500:]}")
    binaries = FOLDER / "node_modules/.bin"
    return [str(binaries / "node"), str(binaries / name)]


def _installed(package: str) -> str:
    try:
        manifest: dict[str, Any] = json.loads((FOLDER / "node_modules" / package / "package.json").read_text())
    except (OSError, ValueError):
        return ""
    return str(manifest.get("version"))


@contextmanager
def fixture_server(port: int = 0) -> Iterator[str]:
    """The fixture workspace, served from a copy: gives its address, as the suite wants it."""
    with tempfile.TemporaryDirectory(prefix="ferrule-conformance-") as folder:
        command = [*_serving(Path(folder) / "workspace", port), "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the fixture server did not start")
            yield json.loads(line)["mcp"].replace("127.0.0.1", "localhost")
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _serving(copy: Path, port: int) -> list[str]:
    """The command that serves a new copy of the fixture workspace: what it leaves behind is not kept."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(FIXTURE, copy, ignore=shutil.ignore_patterns(".ferrule", "__pycache__"))
    return [sys.executable, "-m", "ferrule", "serve", "--workspace", str(copy), "--port", str(port), "--no-auth"]


def serve(port: int) -> None:
    """Become the fixture server: whoever ends this process ends the server."""
    command = _serving(FOLDER / f"served-{port}", port)
    os.execv(command[0], command)


def run_suite(command: Sequence[str], url: str, run: str) -> list[Check]:
    """The checks of one run."""
    if run != EXTENSIONS:
        return _checks(command, url, run, "--spec-version", run, "--suite", "all")
    listed = subprocess.run([*command, "list", "--server"], capture_output=True, text=True, timeout=60, check=True)
    scenarios = re.findall(r"^\s*- (\S+) \[extension\]", listed.stdout, re.MULTILINE)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda scenario: _checks(command, url, run, "--scenario", scenario), scenarios)
        return [check for checks in found for check in checks]


def _checks(command: Sequence[str], url: str, run: str, *options: str) -> list[Check]:
    with tempfile.TemporaryDirectory(prefix="ferrule-conformance-") as folder:
        words = [*command, "server", "--url", url, "--output-dir", folder, *options]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False)
        found = [check for file in sorted(Path(folder).rglob("checks.json")) for check in _read(run, file)]
    if not found:
        return [Check(run, " ".join(options), "run", "FAILURE", (done.stdout + done.stderr).strip()[-2000:])]
    return found


def _read(run: str, file: Path) -> Iterator[Check]:
    named = _FOLDER_NAME.fullmatch(file.parent.name)
    scenario = named["scenario"] if named is not None else file.parent.name
    for check in json.loads(file.read_text()):
        message = check.get("errorMessage") or ""
        yield Check(run, scenario, str(check.get("id")), str(check.get("status")), str(message))


def judged(checks: list[Check]) -> Report:
    """The checks beside what is expected: every other failure or warning is a problem, and so is an expectation that is wrong."""
    written = tomllib.loads(EXPECTED.read_text())
    expected = {(one["run"], one["scenario"], one["check"]): one for one in written.get("expected", ())}
    runs = {check.run for check in checks}
    problems, met = [], set()
    for check in checks:
        known = expected.get(check.place)
        if known is not None and known["status"] == check.status:
            met.add(check.place)
        elif check.status in ("FAILURE", "WARNING"):
            problems.append(f"{check.status} {' / '.join(check.place)}\n    {check.message or 'no reason given'}")
    problems += [
        f"{' / '.join(place)} was expected as {one['status']}, and is not: take it off the list"
        for place, one in expected.items()
        if place[0] in runs and place not in met
    ]
    for run, least in written.get("passed", {}).items():
        passed = sum(check.run == run and check.status == "SUCCESS" for check in checks)
        if run in runs and passed < least:
            problems.append(f"{run}: {passed} checks passed, and {least} did before")
    return Report(checks, problems)


def main() -> int:
    """Run the suite, or serve the fixture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=RUNS, action="append", help="run only this; may be given more than once")
    parser.add_argument("--port", type=int, default=0, help="the port of the fixture server; 0 takes a free one")
    parser.add_argument("--serve", action="store_true", help="only serve the fixture workspace")
    parser.add_argument("--show", action="store_true", help="show every check, not only what did not pass")
    given = parser.parse_args()
    if given.serve:
        serve(given.port)
    with fixture_server(given.port) as url:
        try:
            command = suite()
        except NoSuite as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 2
        checks: list[Check] = []
        for run in given.only or RUNS:
            print(f"running {run} …", file=sys.stderr, flush=True)
            checks += run_suite(command, url, run)
    report = judged(checks)
    for check in report.checks:
        if given.show or check.status in ("FAILURE", "WARNING"):
            print(f"{check.status:<8} {' / '.join(check.place)}{f': {check.message}' if check.message else ''}")
    print(*report.totals(), sep="\n")
    for problem in report.problems:
        print(f"problem: {problem}")
    print("conformance: " + (f"{len(report.problems)} problems" if report.problems else "as expected"))
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
