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
