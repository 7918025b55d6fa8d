"""A definition changes, and what a person wrote for it in Go no longer compiles where that matters: the compiler tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import ferrule
from tests.definitions.stubs.agent import agent_for
from tests.definitions.stubs.languages.go.compiled_program import unformatted
from tests.definitions.stubs.languages.toolchains import go

_WORK = """\
	if input.Place != nil && input.Place.Row != nil {
		t.logger.Info("a row", "before", *input.Place.Row-1)
	}
"""


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ("row: {type: integer}", "row: {type: string}", "find_sku.go:.*mismatched types string"),
        ("row: {type: integer}", "line: {type: integer}", "find_sku.go:.*input.Place.Row undefined"),
        ("inject: [logger, orderRepo,", "inject: [orderRepo,", "registry_gen.go:.*not enough arguments"),
    ],
)
def test_a_changed_definition_is_an_error_of_the_compiler(before: str, after: str, error: str, tmp_path: Path) -> None:
    """ADL-41: the project compiles before anything is written and with the work of a person, and says where that is behind."""
    agent, stubs = tmp_path / "agent.yaml", tmp_path / "stubs"
    agent.write_text(agent_for("go"))
    assert ferrule("gen", "go", "--project", "--out", "stubs", folder=tmp_path).code == 0
    go().run("vet", "./...", cwd=stubs)
    assert unformatted(stubs) == ""
    mine = stubs / "tools" / "find_sku.go"
    mine.write_text(mine.read_text().replace("\t// TODO", f"{_WORK}\t// TODO"))
    go().run("build", "./...", cwd=stubs)

    agent.write_text(agent_for("go").replace(before, after))
    text = mine.read_text()
    assert ferrule("gen", "--out", "stubs", folder=tmp_path).code == 0
    assert mine.read_text() == text
    with pytest.raises(AssertionError, match=error):
        go().run("build", "./...", cwd=stubs)


def test_changed_words_compile(tmp_path: Path) -> None:
    agent, stubs = tmp_path / "agent.yaml", tmp_path / "stubs"
    agent.write_text(agent_for("go"))
    assert ferrule("gen", "go", "--project", "--out", "stubs", folder=tmp_path).code == 0
    agent.write_text(agent_for("go").replace("Who asks", "Whoever asks"))
    assert ferrule("gen", "--out", "stubs", folder=tmp_path).code == 0
    assert "Whoever asks" in (stubs / "tools" / "find_sku_gen.go").read_text()
    go().run("build", "./...", cwd=stubs)
