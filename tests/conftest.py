"""Shared by every test: a cache of its own, and `--quick`, which leaves out the tests of `NOT_QUICK` and tries fewer examples."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests import ROOT

NOT_QUICK = {
    "tests/servers/console/browser": "a browser",
    "tests/cli/test_gen.py": "compilers",
    "tests/definitions/stubs/languages": "compilers",
    "tests/workspace/test_stubs.py": "compilers",
    "tests/conformance": "services: MCP's conformance suite",
    "tests/infra/credentials/test_oauth_tokens.py": "services: an OAuth provider",
    "tests/runtime/executors/database": "services: databases",
    "tests/runtime/executors/queue": "services: brokers",
    "tests/runtime/executors/mcp": "services: MCP servers of others",
    "tests/servers/test_real_clients.py": "services: MCP clients of others",
    "tests/faults": "kills and failing disks",
    "tests/infra/processes/test_run.py": "kills",
    "tests/ledger/stores/sqlite/store/test_faults.py": "kills",
    "tests/ledger/stores/sqlite/test_instances.py": "kills",
    "tests/runtime/functions/test_isolation.py": "kills",
    "tests/bench": "minutes: whole programs",
    "tests/cli/test_approve.py": "minutes: whole programs",
    "tests/cli/test_audit.py": "minutes: whole programs",
    "tests/cli/test_batch.py": "minutes: whole programs",
    "tests/cli/call/test_call.py": "minutes: whole programs",
    "tests/cli/test_cancel.py": "minutes: whole programs",
    "tests/cli/test_completion.py": "minutes: whole programs",
    "tests/cli/test_connect.py": "minutes: whole programs",
    "tests/cli/test_console.py": "minutes: whole programs",
    "tests/cli/test_convert.py": "minutes: whole programs",
    "tests/cli/test_diff.py": "minutes: whole programs",
    "tests/cli/test_doctor.py": "minutes: whole programs",
    "tests/cli/test_export.py": "minutes: whole programs",
    "tests/cli/test_follow.py": "minutes: whole programs",
    "tests/cli/test_options.py": "minutes: whole programs",
    "tests/cli/test_rule.py": "minutes: whole programs",
    "tests/cli/test_run.py": "minutes: whole programs",
    "tests/cli/test_init.py": "minutes: whole programs",
    "tests/cli/test_loop.py": "minutes: whole programs",
    "tests/cli/test_list.py": "minutes: whole programs",
    "tests/cli/test_show_tool.py": "minutes: whole programs",
    "tests/cli/test_watch.py": "minutes: whole programs",
    "tests/contracts/transports": "minutes: whole programs",
    "tests/docs/test_demo.py": "minutes: whole programs",
    "tests/docs/test_demo_agent.py": "minutes: whole programs",
    "tests/docs/test_guides.py": "minutes: whole programs",
    "tests/journeys": "minutes: whole programs",
    "tests/app/imports/test_mcp.py": "services: MCP servers of others",
    "tests/app/custody/test_check.py": "minutes: a ledger changed byte by byte",
    "tests/definitions/stubs/tree/test_fits.py": "minutes: values of random schemas",
    "tests/packaging/test_wheel.py": "minutes: a wheel built and installed",
    "tests/runtime/executors/oxp/test_two_servers.py": "minutes: whole programs",
    "tests/runtime/pipeline/test_leaks.py": "minutes: thousands of calls",
    "tests/runtime/pipeline/test_live.py": "minutes: deadlines in real time",
    "tests/runtime/pipeline/test_supervise.py": "minutes: deadlines in real time",
    "tests/servers/api/test_schemathesis.py": "minutes: requests made from the OpenAPI document",
    "tests/servers/http1/connection/test_slow_readers.py": "minutes: deadlines in real time",
    "tests/servers/mcp/transports/test_stdio.py": "kills",
    "tests/servers/soak": "minutes: serving for long",
    "tests/cli/test_import_config.py": "minutes: whole programs",
    "tests/servers/test_fuzz.py": "minutes: random requests",
    "tests/servers/test_rough_clients.py": "minutes: deadlines in real time",
    "tests/cli/test_serve.py": "kills",
    "tests/servers/console/test_live.py": "minutes: news in real time",
    "tests/workspace/convert/test_natives.py": "minutes: every format into every other",
}
"""Test files and folders that `make quick` leaves out, and what they need that the inner loop has not: a browser, compilers,
services, processes to kill, or minutes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--quick`."""
    parser.addoption(
        "--quick", action="store_true", help="leave out what needs a browser, compilers, services, kills or minutes"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Lets property tests try fewer examples under `--quick`, unless they say how many they need."""
    # No example has a deadline on the clock: a busy machine would decide what passes.
    settings.register_profile("whole", deadline=None)
    settings.load_profile("whole")
    if config.getoption("quick"):
        settings.register_profile("quick", max_examples=20, deadline=None)
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keeps `--quick` from even importing the tests it leaves out."""
    if not config.getoption("quick"):
        return None
    return True if collection_path.relative_to(ROOT).as_posix() in NOT_QUICK else None


_CACHES = count(1)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Points caches at a folder of this test's own, so nothing is remembered from elsewhere. Few tests ever make it."""
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(_CACHES))
    monkeypatch.setenv("FERRULE_CACHE_DIR", str(folder))
    return folder
