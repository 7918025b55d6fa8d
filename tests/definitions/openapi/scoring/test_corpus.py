"""Every document of the corpus becomes tools that work, and none of the numbers gets worse.

The numbers are kept in score.json; `python -m tests.definitions.openapi.scoring.score --write` keeps better ones,
`make docs` writes them into
docs/reference/openapi-score.md.
"""

from __future__ import annotations

import pytest

from tests.definitions.openapi.scoring.documents import documents
from tests.definitions.openapi.scoring.score import DocumentScore, load_scores, score_all

MORE_IS_BETTER = ("tools", "called", "callable")
LESS_IS_BETTER = ("errors", "warnings", "check_errors", "check_warnings")
EXPECTED = {"forms.yaml": ["AML-17 info"], "no-ids.yaml": ["AML-41 warning"]}
"""What `ferrule check` rightly says about what was written."""
NAMES = [document.name for document in documents()]


@pytest.fixture(scope="module")
def told() -> dict[str, DocumentScore]:
    return {each.score.document: each for each in score_all()}


def test_the_corpus_is_large_and_has_its_numbers_kept() -> None:
    assert len(NAMES) >= 30
    assert sum(document.is_broken for document in documents()) >= 4
    assert list(load_scores()) == NAMES, "run `python -m tests.definitions.openapi.scoring.score --write`"


@pytest.mark.parametrize("name", NAMES)
def test_no_number_is_worse_than_it_was(name: str, told: dict[str, DocumentScore]) -> None:
    before, now = load_scores()[name], told[name].score
    said = "\n".join((*told[name].failures, *told[name].diagnostics, *told[name].findings))[:4000]
    assert now.operations == before.operations, "the document was changed"
    for number in MORE_IS_BETTER:
        assert getattr(now, number) >= getattr(before, number), f"{number}\n{said}"
    for number in LESS_IS_BETTER:
        assert getattr(now, number) <= getattr(before, number), f"{number}\n{said}"


def test_what_no_tool_was_made_of_is_told(told: dict[str, DocumentScore]) -> None:
    for name, each in told.items():
        if each.score.tools < each.score.operations:
            assert each.score.errors, name


def test_what_is_written_passes_the_check(told: dict[str, DocumentScore]) -> None:
    found = {name: sorted({" ".join(line.split()[1:3]) for line in each.findings}) for name, each in told.items()}
    assert {name: findings for name, findings in found.items() if findings} == EXPECTED


def test_broken_documents_are_told_line_by_line(told: dict[str, DocumentScore]) -> None:
    for document in documents():
        if document.is_broken:
            assert told[document.name].diagnostics, document.name
