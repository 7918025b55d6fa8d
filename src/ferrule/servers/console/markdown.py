"""A small part of Markdown as HTML: paragraphs, headings, lists, quotes, code, emphasis, and links to the web.

What authors write is somebody else's text. Nothing of it reaches a page unescaped, markup in it is shown as it is written, and
links go to `http` and `https` addresses alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markupsafe import Markup, escape

_LONGEST = 20_000
_DEEPEST = 3
_INLINE = re.compile(
    r"`(?P<code>[^`\n]{1,300})`"
    r"|\*\*(?P<strong>[^*\n]{1,300})\*\*"
    r"|\*(?P<star>[^*\s](?:[^*\n]{0,300}[^*\s])?)\*"
    r"|(?<!\w)_(?P<line>[^_\s](?:[^_\n]{0,300}[^_\s])?)_(?!\w)"
    r"|\[(?P<text>[^\[\]\n]{1,200})\]\((?P<to>https?://[^\s()<>\"']{1,500})\)"
    r"|<(?P<bare>https?://[^\s<>\"']{1,500})>",
    re.IGNORECASE,
)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(?=[^ \t])(.+)$")
_ITEM = re.compile(r"( *)(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LINK = Markup('<a href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>')


def markdown(text: str) -> Markup:
    """A text as HTML."""
    is_cut = len(text) > _LONGEST
    lines = text[:_LONGEST].replace("\r\n", "\n").expandtabs(4).split("\n")
    whole = Markup("\n").join(_blocks(lines, 0))
    return whole + Markup('\n<p class="hint">The rest is not shown: the text is too long.</p>') if is_cut else whole


def _blocks(lines: list[str], depth: int) -> Iterator[Markup]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif fence := _FENCE.match(line):
            end = _end_of_fence(lines, at + 1, fence[1])
            yield Markup('<div class="code"><pre tabindex="0"><code>{}</code></pre></div>').format(
                "\n".join(lines[at + 1 : end])
            )
            at = end + 1
        elif heading := _HEADING.match(line):
            yield Markup("<h3>{}</h3>").format(_inline(heading[2].rstrip(" \t#")))
            at += 1
        elif line.lstrip().startswith(">") and depth < _DEEPEST:
            end = _while(lines, at, lambda each: each.lstrip().startswith(">"))
            inner = [each.lstrip()[1:].removeprefix(" ") for each in lines[at:end]]
            yield Markup("<blockquote>{}</blockquote>").format(Markup("\n").join(_blocks(inner, depth + 1)))
            at = end
        elif _ITEM.match(line) and depth < _DEEPEST:
            end = _end_of_list(lines, at)
            yield _list(lines[at:end], depth)
            at = end
        else:
            end = _while(lines, at + 1, _goes_on)
            yield Markup("<p>{}</p>").format(_inline(" ".join(each.strip() for each in lines[at:end])))
            at = end


def _while(lines: list[str], at: int, holds: Callable[[str], bool]) -> int:
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at


def _goes_on(line: str) -> bool:
    """True for a line that belongs to the paragraph before it."""
    return bool(line.strip()) and not (_FENCE.match(line) or _HEADING.match(line) or _ITEM.match(line))


def _end_of_fence(lines: list[str], at: int, mark: str) -> int:
    while at < len(lines) and not lines[at].strip().startswith(mark):
        at += 1
    return at


def _end_of_list(lines: list[str], at: int) -> int:
    """Behind the last line of a list: its items, what is indented below them, and what simply goes on."""
    is_ordered = _is_ordered(lines[at])
    at += 1
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            following = lines[at + 1] if at + 1 < len(lines) else ""
            if not (following.startswith("  ") or _is_ordered(following) is is_ordered):
                return at
        elif not (
            line.startswith("  ") or _is_ordered(line) is is_ordered or (lines[at - 1].strip() and _goes_on(line))
        ):
            return at
        at += 1
    return at


def _is_ordered(line: str) -> bool | None:
    """Whether an item of a list has a number; None for a line that is no item."""
    item = _ITEM.match(line)
    return None if item is None else item[2] is not None


def _list(lines: list[str], depth: int) -> Markup:
    first = _ITEM.match(lines[0])
    assert first is not None
    indent, is_ordered = len(first[1]), first[2] is not None
    items: list[list[str]] = []
    for line in lines:
        item = _ITEM.match(line)
        if item is not None and len(item[1]) <= indent + 1:
            items.append([item[3]])
        elif items:
            items[-1].append(line[indent + 2 :] if line.startswith(" " * (indent + 2)) else line.lstrip())
    shown = Markup("").join(Markup("<li>{}</li>").format(_item(item, depth)) for item in items)
    return Markup("<ol>{}</ol>" if is_ordered else "<ul>{}</ul>").format(shown)


def _item(lines: list[str], depth: int) -> Markup:
    end = _while(lines, 1, _goes_on)
    head = _inline(" ".join(each.strip() for each in lines[:end]))
    rest = Markup("\n").join(_blocks(lines[end:], depth + 1))
    return head + rest


def _inline(text: str, depth: int = 0) -> Markup:
    shown, at = Markup(""), 0
    for found in _INLINE.finditer(text):
        shown += escape(text[at : found.start()]) + _marked(found, depth)
        at = found.end()
    return shown + escape(text[at:])


def _marked(found: re.Match[str], depth: int) -> Markup:
    if found["code"] is not None:
        return Markup("<code>{}</code>").format(found["code"].strip())
    if found["to"] is not None:
        return _LINK.format(found["to"], found["text"])
    if found["bare"] is not None:
        return _LINK.format(found["bare"], found["bare"])
    inner = found["strong"] or found["star"] or found["line"]
    shown = _inline(inner, depth + 1) if depth < _DEEPEST else escape(inner)
    return Markup("<strong>{}</strong>" if found["strong"] is not None else "<em>{}</em>").format(shown)
