"""What tests of TypeScript share: one compiled project for each flavour."""

from __future__ import annotations

import pytest

from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.typescript.compiled_program import Workshop, tool_of
from tests.definitions.stubs.languages.typescript.hostile import hostile_tools
from tests.definitions.stubs.languages.typescript.typing_programs import PROGRAMS


def _workshop(made: pytest.TempPathFactory, flavour: str) -> Workshop:
    catalog = [tool_of(case.name, case.schema, case.schema) for case in CASES]
    return Workshop(made.mktemp(flavour), [*catalog, *hostile_tools()], flavour, PROGRAMS)


@pytest.fixture(scope="session")
def ajv(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """The catalog of schemas and a sample of hostile ones, compiled together with programs that test types."""
    return _workshop(tmp_path_factory, "ajv")


@pytest.fixture(scope="session")
def zod(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """The same, checked by Zod."""
    return _workshop(tmp_path_factory, "zod")
