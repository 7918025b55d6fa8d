"""What tests of Go share: one compiled program for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.definitions.stubs.languages.go.bounds import BOUNDED
from tests.definitions.stubs.languages.go.compiled_program import Workbench, tool_of
from tests.definitions.stubs.languages.go.random_tools import random_tools
from tests.definitions.stubs.languages.nasty import CASES


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """The catalog of schemas and a sample of random ones, compiled together."""
    folder: Path = tmp_path_factory.mktemp("go")
    catalog = [tool_of(case.name, case.schema, case.schema) for case in CASES]
    return Workbench(folder, [*catalog, *random_tools(), *BOUNDED])
