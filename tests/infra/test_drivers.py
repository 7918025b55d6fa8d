"""The table of extras agrees with pyproject.toml, and a missing one is told in one line."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import import_module, metadata
from typing import Any

import pytest

from ferrule.adapters.surface_tools import FRAMEWORKS
from ferrule.errors import ExtraMissing, FerruleError
from ferrule.infra.drivers import EXTRAS, DriverMissing, describe_failure, find_extra, load_driver, load_extra
from tests import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DECLARED: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return found[0]


def test_table_and_project_name_the_same_extras_and_packages() -> None:
    declared = {extra: [*map(name_of, needed)] for extra, needed in DECLARED.items() if extra != "all"}
    assert declared == {name: [extra.package] for name, extra in EXTRAS.items()}


def test_all_is_the_sum_of_the_extras() -> None:
    assert DECLARED["all"] == [f"ferrule[{','.join(EXTRAS)}]"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_package_of_an_extra_brings_its_modules(extra: str) -> None:
    try:
        files = metadata.files(EXTRAS[extra].package) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"{EXTRAS[extra].package} is not installed")
    paths = {file.as_posix() for file in files}
    for module in EXTRAS[extra].modules:
        assert f"{module.replace('.', '/')}/__init__.py" in paths


def test_submodule_belongs_to_the_extra_of_its_parent() -> None:
    assert find_extra("google.oauth2.id_token") == "gcp"
    with pytest.raises(LookupError, match="EXTRAS"):
        find_extra("google.cloud")


@pytest.mark.parametrize("extra", EXTRAS)
def test_missing_extra_is_told_in_one_line(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = EXTRAS[extra].modules[0]
    monkeypatch.setitem(sys.modules, module, None)
    command = f"needs the extra '{extra}'; run: pip install 'ferrule[{extra}]'"
    with pytest.raises(DriverMissing) as failed:
        load_driver(module)
    assert failed.value.message == f"{EXTRAS[extra].used_for} {command}"
    assert (failed.value.error_class, failed.value.code) == ("setup_required", "driver_missing")
    assert describe_failure(failed.value, "tool 'refund'") == f"tool 'refund' {command}"
    with pytest.raises(ExtraMissing) as missing:
        load_extra(module)
    assert str(missing.value) == failed.value.message


def test_frameworks_of_adapters_are_those_that_are_tested() -> None:
    assert set(FRAMEWORKS.values()) <= set(PROJECT["dependency-groups"]["test"])
    adapters = {file.stem for file in (ROOT / "src/ferrule/adapters").glob("*.py")}
    generated_clients = {"callers", "call_errors"}
    assert adapters - {"__init__", "surface_tools"} - generated_clients == set(FRAMEWORKS)


@pytest.mark.parametrize(
    ("adapter", "module"),
    [("langchain", "langchain_core"), ("openai_agents", "agents"), ("pydantic_ai", "pydantic_ai")],
)
def test_adapter_without_its_framework_is_an_import_error_of_one_line(
    adapter: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for known in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"ferrule.adapters.{adapter}", raising=False)
    with pytest.raises(ImportError) as missing:
        import_module(f"ferrule.adapters.{adapter}")
    requirement = FRAMEWORKS[adapter]
    assert isinstance(missing.value, FerruleError)
    assert str(missing.value) == (
        f"ferrule.adapters.{adapter} needs the package {name_of(requirement)!r}; run: pip install '{requirement}'"
    )
