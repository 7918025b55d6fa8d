"""What tests of TypeScript share: one compiled project for all of them."""

from __future__ import annotations

import pytest

from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.typescript.hostile import hostile_tools
from tests.definitions.stubs.languages.typescript.typing_programs import PROGRAMS
from tests.definitions.stubs.languages.typescript.workshop import Workshop, tool_of


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """The catalog of schemas and a sample of hostile ones, compiled together with programs that test types."""
    catalog = [tool_of(case.name, case.schema, case.schema) for case in CASES]
    return Workshop(tmp_path_factory.mktemp("typescript"), [*catalog, *hostile_tools()], PROGRAMS)
