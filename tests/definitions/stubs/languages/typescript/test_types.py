"""The types say what the schemas say: programs compile that should, and do not that should not."""

from __future__ import annotations

from tests.definitions.stubs.languages.typescript.typing_programs import PROGRAMS
from tests.definitions.stubs.languages.typescript.workshop import Workshop


def test_programs_over_the_types_compile_as_they_should(workshop: Workshop) -> None:
    for path in PROGRAMS:
        assert (workshop.folder / "dist" / path).with_suffix(".js").exists()
