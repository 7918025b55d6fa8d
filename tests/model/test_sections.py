"""First-level headings and the text under them."""

from __future__ import annotations

import pytest

from ferrule.model.sections import headings, sections


def test_text_stands_under_its_heading() -> None:
    body = "before\n# Purpose\none\n\n## Part\ntwo\n# Notes\n"
    assert sections(body) == {"": "before", "purpose": "one\n\n## Part\ntwo"}


def test_of_two_sections_with_one_heading_the_first_is_kept() -> None:
    assert sections("# A\none\n# a\ntwo\n") == {"a": "one"}


def test_an_underlined_heading_leaves_no_trace_in_the_text_before() -> None:
    assert sections("# A\none\n\nRules\n=====\ntwo\n") == {"a": "one", "rules": "two"}


@pytest.mark.parametrize("line", ["# Rules", "  # RULES", "#\tRules", "# Rules ##", "# Rules\r", "#   Rules   "])
def test_ways_of_writing_a_heading(line: str) -> None:
    assert headings(f"text\n{line}\n") == {"rules"}


@pytest.mark.parametrize("line", ["## Rules", "#Rules", "    # Rules", "\\# Rules", "> # Rules", "- Rules", "==="])
def test_what_is_no_heading(line: str) -> None:
    assert headings(f"\n{line}\n") == set()


def test_a_title_may_end_in_a_hash() -> None:
    assert headings("# In C#\n# In F# #\n") == {"in c#", "in f#"}


@pytest.mark.parametrize(
    "body",
    [
        "```\n# Rules\n```\n",
        "~~~ yaml\n# Rules\n~~~\n",
        "   ```\n# Rules\n   ```\n",
        "- ```\n  # Rules\n  ```\n",
        "1. - ~~~\n     x\n# Rules\n     ~~~\n",
        "````\n```\n# Rules\n",
        "```\n~~~\n# Rules\n",
        "```\n``` not closed\n# Rules\n",
        "```\n        ```\n# Rules\n",
    ],
)
def test_nothing_in_a_fence_is_a_heading(body: str) -> None:
    assert "rules" not in headings(body)


@pytest.mark.parametrize(
    "body",
    [
        "```\nx\n```\n# Rules\n",
        "- ```\n  x\n  ```\n\n# Rules\n",
        "``` code ``` in a line\n# Rules\n",
        "    ```\n# Rules\n",
    ],
)
def test_headings_outside_fences_count(body: str) -> None:
    assert headings(body) == {"rules"}


def test_long_runs_of_spaces_take_no_time() -> None:
    assert headings("# a" + " " * 200_000 + "b\n") == {"a b"}
