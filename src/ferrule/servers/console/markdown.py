"""Renders authors' Markdown as HTML: paragraphs, headings, lists, quotes, code, emphasis, and links to the web.

Authors' text is untrusted. None of it reaches a page unescaped, markup in it is shown as text, links go to `http` and
`https` addresses only, and no image is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

_LONGEST = 20_000
_LONGEST_LANGUAGE = 20
_DEEPEST = 16
"""Greatest depth of lists and quotes. The parser drops what is deeper, so such a text is shown as it is written."""
_WEB = re.compile(r"https?://\S", re.IGNORECASE)
_RULES = ("list", "blockquote", "fence", "heading", "emphasis", "backticks", "link", "autolink", "escape", "newline")
"""The Markdown that descriptions need. Without `html_block` and `html_inline`, markup is plain text."""
_CUT = Markup('\n<p class="hint">The text is too long; the rest is not shown.</p>')


class _Renderer(RendererHTML):
    """Writes the tags that the console's pages have."""

    def heading_open(self, *_: object) -> str:
        """Renders every heading at one level, below those of the page."""
        return "<h3>"

    def heading_close(self, *_: object) -> str:
        """Ends a heading."""
        return "</h3>\n"

    def softbreak(self, *_: object) -> str:
        """Joins the lines of a paragraph."""
        return " "

    def hardbreak(self, *_: object) -> str:
        """Joins lines that end with a backslash, too."""
        return " "

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """Renders a block of code that a keyboard can scroll."""
        info, code = (
            tokens[idx].info.strip(),
            Markup('<div class="code"><pre tabindex="0"><code>{}</code></pre></div>\n'),
        )
        # A long info string is no language name but words for the model, so people must see them.
        words = Markup("<p>{}</p>\n").format(info) if " " in info or len(info) > _LONGEST_LANGUAGE else ""
        return words + code.format(tokens[idx].content.removesuffix("\n"))

    def link_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """Renders a link that sends its target no referrer."""
        link, to = Markup('<a href="{}" rel="noopener noreferrer nofollow" target="_blank" title="{}">'), tokens[idx]
        return link.format(to.attrGet("href"), to.attrGet("title") or to.attrGet("href"))


@cache
def _make_parser() -> MarkdownIt:
    reader = MarkdownIt("zero", {"maxNesting": _DEEPEST}, renderer_cls=_Renderer).enable(_RULES)
    # Any other address, such as javascript:, stays plain text.
    reader.validateLink = lambda url: _WEB.match(url) is not None  # type: ignore[method-assign]  # the library's way
    return reader


def render_markdown(text: str) -> Markup:
    """Returns Markdown as safe HTML."""
    reader, env = _make_parser(), {}  # type: tuple[MarkdownIt, dict[str, object]]
    tokens = reader.parse(text[:_LONGEST].expandtabs(4), env)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        shown = Markup('<div class="code"><pre tabindex="0">{}</pre></div>').format(text[:_LONGEST])
    else:
        shown = Markup(reader.renderer.render(tokens, reader.options, env).rstrip("\n"))
    return shown + _CUT if len(text) > _LONGEST else shown
