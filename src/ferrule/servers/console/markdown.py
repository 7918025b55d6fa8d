"""Renders the Markdown of authors as HTML: paragraphs, headings, lists, quotes, code, emphasis, and links to the web.

What authors write is somebody else's text. Nothing of it reaches a page unescaped, markup in it is shown as it is written, links
go to `http` and `https` addresses alone, and no picture is fetched.
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
"""How deep lists and quotes may nest. The reader drops what is deeper, so such a text is shown as it is written."""
_WEB = re.compile(r"https?://\S", re.IGNORECASE)
_RULES = ("list", "blockquote", "fence", "heading", "emphasis", "backticks", "link", "autolink", "escape", "newline")
"""What a description needs. Without `html_block` and `html_inline`, markup is a text like any other."""
_CUT = Markup('\n<p class="hint">The rest is not shown: the text is too long.</p>')


class _Renderer(RendererHTML):
    """Writes the tags that the console's pages have."""

    def heading_open(self, *_: object) -> str:
        """All headings are alike: the page has its own above them."""
        return "<h3>"

    def heading_close(self, *_: object) -> str:
        """Ends a heading."""
        return "</h3>\n"

    def softbreak(self, *_: object) -> str:
        """Lines of a paragraph run on."""
        return " "

    def hardbreak(self, *_: object) -> str:
        """So do those that end with a backslash."""
        return " "

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """A block of code, which a keyboard can scroll."""
        info, code = (
            tokens[idx].info.strip(),
            Markup('<div class="code"><pre tabindex="0"><code>{}</code></pre></div>\n'),
        )
        # More than the name of a language is words that a model reads.
        said = Markup("<p>{}</p>\n").format(info) if " " in info or len(info) > _LONGEST_LANGUAGE else ""
        return said + code.format(tokens[idx].content.removesuffix("\n"))

    def link_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """A link that tells its target nothing of the page."""
        link, to = Markup('<a href="{}" rel="noopener noreferrer nofollow" target="_blank" title="{}">'), tokens[idx]
        return link.format(to.attrGet("href"), to.attrGet("title") or to.attrGet("href"))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("zero", {"maxNesting": _DEEPEST}, renderer_cls=_Renderer).enable(_RULES)
    # Another address makes no link, and what was written stays a text.
    reader.validateLink = lambda url: _WEB.match(url) is not None  # type: ignore[method-assign]  # the library's way
    return reader


def markdown(text: str) -> Markup:
    """Returns a text as HTML."""
    reader, env = _reader(), {}  # type: tuple[MarkdownIt, dict[str, object]]
    tokens = reader.parse(text[:_LONGEST].expandtabs(4), env)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        shown = Markup('<div class="code"><pre tabindex="0">{}</pre></div>').format(text[:_LONGEST])
    else:
        shown = Markup(reader.renderer.render(tokens, reader.options, env).rstrip("\n"))
    return shown + _CUT if len(text) > _LONGEST else shown
