"""Projects can be installed: what packaging takes for their packages is what they are made of."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from ferrule.contracts.language import Project, Service
from ferrule.definitions.stubs.languages.python.language import LANGUAGE
from tests.definitions.stubs.languages.python.stub_modules import Given, plan_of, ran, write
from tests.services import missing

_SERVICES = (Service(name="orderRepo", interface="OrderRepo", factory="NewOrderRepo"),)
_GIVEN = [Given("price", {"type": "object", "properties": {"of": {"type": "string"}}}, {"type": "object"})]
_PARTS = {
    "implementation": ("services/order_repo.py", "tools/price.py", "tools/_generated/price.py"),
    "client": ("client/price.py", "client/__init__.py"),
}


_SETTINGS = 'write modules = ["tools.registry"] below [functions] in ferrule.toml'


@pytest.mark.parametrize("name", ["shop", 'größe 水 "\\ 1', ""])
@pytest.mark.parametrize("kind", ["implementation", "client"])
def test_a_project_can_be_installed(tmp_path: Path, kind: str, name: str) -> None:
    if find_spec("setuptools") is None:
        missing("setuptools", "it is not installed")
    project = Project(name=name, version="1.2.3", description='Ends """ here\nor there', services=_SERVICES)
    plan = plan_of(_GIVEN, "msgspec", kind=kind, project=project)
    folder, built = tmp_path / "project", tmp_path / "built"
    write(folder, LANGUAGE.write(replace(plan, is_project=True)))
    (folder / "notes").mkdir()  # a folder of a person's own is no package
    if find_spec("wheel") is not None:
        options = (
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "--prefix",
            str(tmp_path / "own"),
        )
        code, said = ran(sys.executable, "-m", "pip", "install", *options, "-e", ".", cwd=folder)
        assert code == 0, said
    program = "from setuptools import setup; setup()"
    code, said = ran(sys.executable, "-c", program, "-q", "build", "--build-lib", str(built), cwd=folder)
    assert code == 0, said
    for part in _PARTS[kind]:
        assert (built / part).is_file(), part
    assert sorted(each.name for each in built.iterdir()) == sorted({part.split("/")[0] for part in _PARTS[kind]})


@pytest.mark.parametrize(
    ("kind", "flavour", "is_project", "words"),
    [
        ("client", "msgspec", False, []),
        ("client", "pydantic", False, ['pip install "pydantic>=2.6"']),
        ("client", "msgspec", True, []),
        ("implementation", "msgspec", True, ["pip install -e .", _SETTINGS]),
        (
            "implementation",
            "pydantic",
            True,
            [
                "pyproject.toml is yours: where it was there before, add pydantic>=2.6 to its dependencies",
                "pip install -e .",
                _SETTINGS,
            ],
        ),
    ],
)
def test_what_a_flavour_needs_is_told(kind: str, flavour: str, is_project: bool, words: list[str]) -> None:
    plan = replace(plan_of(_GIVEN, flavour, kind=kind), is_project=is_project)
    assert [step.words for step in LANGUAGE.write(plan).steps] == words
