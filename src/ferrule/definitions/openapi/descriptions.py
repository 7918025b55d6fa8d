"""What a tool says about itself, from the summary and the description of its operation."""

from __future__ import annotations

import re
from typing import Any

from ferrule.definitions.openapi.paging import in_words
from ferrule.definitions.openapi.shape import Operation
from ferrule.definitions.openapi.wording import as_sentence, bounded, words_of

MOST_SENTENCES = 5
_MOST = 1_200
_END = re.compile(r"""[.!?]+["'”’)\]}]*(?=\s+["'“‘(\[{]*[A-Z0-9À-Þ]|\s*\Z)""")
_ABBREVIATED = ("e.g.", "i.e.")
_MARKUP = re.compile(r"<[^<>]{1,200}>|!\[[^\]]*\]\([^)]*\)|^#{1,6}\s+", re.MULTILINE)


def title_of(operation: Operation, name: str) -> str:
    """A short title: the summary, or the name in words."""
    summary = " ".join(operation.summary.split()).rstrip(".")
    if 0 < len(summary) <= 80:
        return summary
    words = " ".join(words_of(name))
    return words[:1].upper() + words[1:]


def description_of(operation: Operation, api: str, paging: dict[str, Any]) -> str:
    """Two to five sentences: what the document says, and where the call goes."""
    summary = as_sentence(" ".join(operation.summary.split()))
    text = plain(operation.description) if operation.description else ""
    if not text:
        text = summary
    elif summary and not _says(text, summary):
        text = f"{summary} {text}"
    heading = operation.heading
    extra = [in_words(paging)] if paging else []
    if operation.is_deprecated:
        extra.append("It is deprecated.")
    if not text:
        text = f"{' '.join(words_of(heading.operation_id)).capitalize() or 'Uses the service'}."
    text = bounded(text, _MOST)
    ends = _ends(text)
    most = MOST_SENTENCES - len(extra)
    if len(ends) > most or (len(ends) == most and ends[-1] < len(text)):
        text, count = text[: ends[most - 1]], most
    else:
        text, count = as_sentence(text), len(ends) + (not ends or ends[-1] < len(text))
    if count + len(extra) < 2:
        extra.append(f"Calls {heading.method} {heading.template.partition('?')[0]}" + (f" of {api}." if api else "."))
    return " ".join([text, *extra])


def _says(text: str, summary: str) -> bool:
    """True when a text begins with what a summary says."""
    return text.lower().startswith(summary.rstrip(".").lower())


def plain(markdown: str) -> str:
    """Markdown as running text: headings and pictures are taken off, lists and emphasis stay."""
    if "<" in markdown or "#" in markdown or "![" in markdown:
        markdown = _MARKUP.sub(" ", markdown)
    return " ".join(markdown.split())


def _ends(text: str) -> list[int]:
    ends = [match.end() for match in _END.finditer(text)]
    if "." in text and any(word in text.lower() for word in _ABBREVIATED):
        return [end for end in ends if text[max(0, end - 4) : end].lower() not in _ABBREVIATED]
    return ends
