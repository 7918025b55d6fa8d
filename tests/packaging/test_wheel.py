"""The wheel installs into an empty environment and works from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests import ROOT


def run(
    command: Sequence[str | Path], cwd: Path = ROOT, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**clean_environment(), **(settings or {})}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, env=environment, cwd=cwd
    )


def clean_environment() -> dict[str, str]:
    """Gives the environment without what leads Python to the sources."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


@contextmanager
def serving(ferrule: Path, folder: Path) -> Iterator[str]:
    """Serves a workspace on a free port of this machine, and gives its address."""
    errors = folder / "serve.log"
    with errors.open("w") as log:
        process = subprocess.Popen(
            [ferrule, "serve", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=clean_environment(),
            cwd=folder,
        )
    impatient = threading.Timer(60, process.kill)  # ends the wait for a line that never comes
    impatient.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, errors.read_text()
        yield json.loads(line)["url"]
        process.terminate()
        assert process.wait(30) == 0, errors.read_text()
        assert "Traceback" not in errors.read_text()
    finally:
        impatient.cancel()
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "."])
    assert built.returncode == 0, built.stderr
    return next(folder.glob("ferrule-*.whl"))


def test_wheel_holds_types_licence_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "ferrule/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "bench", "scripts", "demo"))]


@pytest.fixture(scope="module")
def ferrule(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the wheel into an empty environment, without extras, and gives the command."""
    folder = tmp_path_factory.mktemp("bare") / "env"
    venv.create(folder, with_pip=True)
    installed = run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel], cwd=folder)
    assert installed.returncode == 0, installed.stderr
    return folder / "bin" / "ferrule"


def test_wheel_without_extras_does_what_a_new_user_does(ferrule: Path, tmp_path: Path) -> None:
    assert run([ferrule, "--version"], cwd=tmp_path).stdout.startswith("ferrule ")
    assert run([ferrule, "init", "fresh"], cwd=tmp_path).returncode == 0
    clean = run([ferrule, "check", "fresh", "--format", "json"], cwd=tmp_path)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert json.loads(clean.stdout)["summary"]["tools"] >= 4
    fresh = tmp_path / "fresh"
    answered = run([ferrule, "call", "find-customer", "--email", "ana@example.org"], cwd=fresh)
    assert answered.returncode == 0, answered.stderr
    assert json.loads(answered.stdout)["name"] == "Ana Ferreira"
    assert run([ferrule, "audit", "verify"], cwd=fresh).returncode == 0
    with serving(ferrule, fresh) as address, urlopen(f"{address}/console/", timeout=30) as page:
        assert page.status == 200 and page.headers.get_content_type() == "text/html"
        assert "<title>Sign in" in page.read().decode()


def test_wheel_without_extras_tells_mistakes_by_exit_codes(ferrule: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.tool.md").write_text("---\ntool_id: ab\n---\n")
    broken = run([ferrule, "check", "broken.tool.md"], cwd=tmp_path)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "AML-9" in broken.stdout
    assert run([ferrule, "check", "nowhere"], cwd=tmp_path).returncode == 2


TOOL = """---
spec_version: "1.2"
tool_id: {tool_id}
version: 1.0.0
status: active
type: retrieval
meta: {{name: {tool_id}, description: Looks something up. It changes nothing., owner: tests}}
interface:
  input: {{type: object}}
  output: {{type: object}}
use_guidance: {{use_when: [a test wants it], avoid_when: [no test wants it]}}
transport: {transport}
---
"""
DATABASE = """{type: database, engine: postgresql, query_method: parameterised-sql, x-statement: SELECT 1 AS a,
  credentials: {scheme: service-account, source: env, name: DB}}"""
SERVER = """{type: mcp, url: "http://127.0.0.1:9/mcp", tool_name: echo, credentials: {scheme: none}}"""
SECRETS = {"DB": json.dumps({"host": "127.0.0.1", "port": 9, "database": "d", "username": "u", "password": "p"})}
CEDAR = """ferrule: [policy] engine = "cedar" needs the extra 'cedar'; run: pip install 'ferrule[cedar]'"""
MCP = "needs the extra 'mcp'; run: pip install 'ferrule[mcp]'"


def write_tools(folder: Path, settings: str = "", **transports: str) -> Path:
    (folder / "tools").mkdir(parents=True)
    network = '[network]\nallow = ["127.0.0.1"]\n'
    (folder / "ferrule.toml").write_text(f'namespace = "test"\n{network}{settings}')
    for tool_id, transport in transports.items():
        (folder / "tools" / f"{tool_id}.tool.md").write_text(TOOL.format(tool_id=tool_id, transport=transport))
    return folder


def test_wheel_without_extras_names_the_extra_of_a_tool_in_one_line(ferrule: Path, tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "shop", orders=DATABASE, echo=SERVER)
    rows = run([ferrule, "call", "orders"], folder, SECRETS)
    needs = "tool 'orders' needs the extra 'postgres'; run: pip install 'ferrule[postgres]'"
    assert (rows.returncode, rows.stdout, rows.stderr) == (1, "", f"failed: {needs}\n")
    echo = run([ferrule, "call", "echo"], folder, SECRETS)
    assert (echo.returncode, echo.stdout, echo.stderr) == (1, "", f"failed: tool 'echo' {MCP}\n")
    looked = run([ferrule, "lock"], folder)
    assert looked.returncode == 2
    assert (looked.stdout + looked.stderr).splitlines() == [
        f"http://127.0.0.1:9/mcp: could not be looked at: the MCP client {MCP}"
    ]


def test_wheel_without_extras_names_the_extra_of_a_policy_in_one_line(ferrule: Path, tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "shop", '[policy]\nengine = "cedar"\n', orders=DATABASE)
    (folder / "policy.cedar").write_text("permit(principal, action, resource);\n")
    for words in (["check"], ["build"], ["call", "orders"], ["serve", "--port", "0"]):
        ended = run([ferrule, *words], folder, SECRETS)
        assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"{CEDAR}\n"), words
    alone = run([ferrule, "check", "tools/orders.tool.md"], folder)
    assert alone.returncode == 0, alone.stdout + alone.stderr


def test_wheel_without_extras_watches_and_says_what_would_be_quicker(ferrule: Path, tmp_path: Path) -> None:
    folder = write_tools(tmp_path / "shop", orders=DATABASE)
    process = subprocess.Popen(
        [ferrule, "check", "--watch"], stderr=subprocess.PIPE, text=True, env=clean_environment(), cwd=folder,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    impatient = threading.Timer(60, process.kill)  # ends the wait for a line that never comes
    impatient.start()
    try:
        assert process.stderr is not None
        lines = [process.stderr.readline(), process.stderr.readline()]
    finally:
        impatient.cancel()
        process.kill()
        process.communicate()
    assert lines == [
        "watching for changes; Ctrl-C to end\n",
        "note: hearing of changed files at once needs the extra 'watch'; run: pip install 'ferrule[watch]'\n",
    ]


def test_wheel_without_extras_names_the_framework_of_an_adapter(ferrule: Path, tmp_path: Path) -> None:
    python = Path(ferrule).with_name("python")
    ended = run([python, "-c", "from ferrule.adapters import langchain"], cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        "ferrule.errors.ExtraMissing: ferrule.adapters.langchain needs the package 'langchain-core';"
        " run: pip install 'langchain-core>=1.0'"
    )
