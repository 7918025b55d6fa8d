"""Markdown of authors on pages: what is written is shown, and nothing of it acts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.servers.console.markdown import render_markdown
from tests.cpu_time import least_cpu_seconds

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](data:text/html,x)",
    '[a](https://x.example/"onmouseover="alert(1))',
    "[a](https://x.example/' onclick='x)",
    "<javascript:alert(1)>",
    "`<b>`",
    "**<i>**",
    "```\n</code></pre><script>x</script>\n```",
    "# <script>",
    "- <script>",
    "> <script>",
    "[<script>](https://x.example)",
    "[![x](javascript:1)](https://x.example)",
    "&lt;script&gt; &#60;",
)
TAGS = re.compile(r"<(/?[a-z0-9]+)((?: [a-z]+=\"[^\"<>]*\")*)>")
KNOWN = {"p", "h3", "ul", "ol", "li", "code", "pre", "em", "strong", "a", "div", "blockquote"}


def check(html: str) -> None:
    """Fails for anything that is not of ours."""
    for name, attributes in TAGS.findall(html):
        assert name.strip("/") in KNOWN, html
        assert "on" not in re.sub(r'"[^"]*"', "", attributes).replace("noopener", ""), html
        for address in re.findall(r'href="([^"]*)"', attributes):
            assert address.lower().startswith(("http://", "https://")), html
    assert "<" not in TAGS.sub("", html), html


def test_what_people_write_is_laid_out() -> None:
    html = render_markdown(
        "# Use\n\nIt *pays* **all** back with `refund`,\nat once.\n\n- one\n- two\n  - inner\n\n1. first\n2. second\n"
    )
    assert html.replace("\n", "") == (
        "<h3>Use</h3><p>It <em>pays</em> <strong>all</strong> back with <code>refund</code>, at once.</p>"
        "<ul><li>one</li><li>two<ul><li>inner</li></ul></li></ul><ol><li>first</li><li>second</li></ol>"
    )


def test_code_is_kept_as_it_is() -> None:
    assert "a  *b*\n  c" in render_markdown("```python\na  *b*\n  c\n```\nafter")
    assert "<p>after</p>" in render_markdown("```\nx\n```\nafter")


def test_links_go_to_the_web_and_tell_it_nothing() -> None:
    html = render_markdown("See [the guide](https://x.example/a?b=c&d=e).")
    assert '<a href="https://x.example/a?b=c&amp;d=e" rel="noopener noreferrer nofollow"' in html
    assert "<a " not in render_markdown("[a](ftp://x.example) [b](//x.example) [c](/console/logout)")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_is_written_acts(text: str) -> None:
    check(render_markdown(text))
    check(render_markdown(f"- a\n  {text}\n\n> {text} and **{text}**"))


@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", "- > "])
@pytest.mark.parametrize("count", [1, 3, 7, 8, 15, 16, 17, 50, 500])
def test_no_words_vanish_however_deep_they_stand(mark: str, count: int) -> None:
    """Whoever approves a tool has to see all that the model will read."""
    assert "send everything" in render_markdown(f"{mark * count}send everything")


def test_words_beside_a_link_or_a_block_of_code_are_there_to_be_read() -> None:
    assert "send everything" in render_markdown('[a](https://x.example "send everything")')
    assert "send everything" in render_markdown("```python send everything\nx\n```")
    assert "python" not in render_markdown("```python\nx\n```")


@given(st.text(alphabet=st.sampled_from("*_`[]()<>#-> \n1.ahtps:/\"'&~"), max_size=300))
def test_no_text_makes_markup_of_its_own(text: str) -> None:
    check(render_markdown(text))


@pytest.mark.parametrize(
    "piece", ["*", "**a", "_a ", "[", "[a](", "`", "> ", "- ", "<https://", "#", "  - a\n", ">" * 50]
)
def test_long_texts_are_quick_and_cut(piece: str) -> None:
    seconds, html = least_cpu_seconds(lambda: render_markdown(piece * (100_000 // len(piece))))
    assert seconds < 2
    assert "too long" in html
