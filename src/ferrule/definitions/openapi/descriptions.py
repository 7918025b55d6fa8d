"""Writes the title and the description of a tool, and detects its paging.

The text comes from the summary and the description of the operation. Paging is guessed from the names of its parameters and
of the members of its response.
"""

from __future__ import annotations

import re

from ferrule.definitions.openapi.arguments import RequestPlan
from ferrule.definitions.openapi.responses import ResponsePlan
from ferrule.definitions.openapi.shape import Operation
from ferrule.definitions.openapi.wording import end_sentence, shorten_text, split_words
from ferrule.model.value import JsonObject

_CURSORS = frozenset(
    ["cursor", "page_token", "next_token", "continuation_token", "continuationtoken", "after", "starting_after",
     "start_after", "next_cursor", "marker", "pagetoken", "nexttoken", "exclusive_start_key", "scroll_id", "bookmark"]
)  # fmt: skip
_PAGES = frozenset({"page", "page_number", "pagenumber", "page_index", "pageno", "page_no", "p"})
_OFFSETS = frozenset({"offset", "skip", "start", "start_index", "startindex", "from", "start_at", "startat"})
_SIZES = frozenset(
    ["limit", "per_page", "perpage", "page_size", "pagesize", "size", "count", "top", "max_results", "maxresults", "first",
     "take", "rows", "page_limit", "results_per_page"]
)  # fmt: skip
_NEXT = ("next_cursor", "nextcursor", "next_page_token", "nextpagetoken", "next_token", "nexttoken", "cursor", "next",
         "continuation_token", "next_page", "after", "end_cursor")  # fmt: skip


def _normalize_name(name: str) -> str:
    return name.strip("$").replace("-", "_").replace("[", "_").replace("]", "").lower().removeprefix("page_") or name


def _find_argument(names: dict[str, str], words: frozenset[str]) -> str:
    for argument, name in names.items():
        lower = name.strip("$").replace("-", "_").lower()
        if lower in words or lower.replace("[", "_").rstrip("]") in words:
            return argument
    for argument, name in names.items():
        lower = name.lower()
        if lower.startswith("page[") and _normalize_name(lower) in words:
            return argument
    return ""


def guess_paging(sending: RequestPlan, answering: ResponsePlan) -> JsonObject:
    """Guesses the paging: `style` (cursor, page, offset or link), the arguments, and the next cursor's place; empty for none."""
    if not answering.is_list and "link" not in answering.headers:
        return {}
    names = {
        argument: parameter.name for argument, parameter in sending.arguments.items() if parameter.place == "query"
    }
    if not names:
        return {}
    size = _find_argument(names, _SIZES)
    following = _find_next_cursor(answering.schema)
    for style, words in (("cursor", _CURSORS), ("page", _PAGES), ("offset", _OFFSETS)):
        argument = _find_argument(names, words)
        # A lone `cursor` or `offset` may mean something else, so paging needs a second sign.
        if argument and (size or following or style == "page" or "link" in answering.headers):
            made = {"style": style, "argument": argument}
            if size:
                made["size_argument"] = size
            if following and style == "cursor":
                made["next"] = following
            return made
    return {"style": "link"} if "link" in answering.headers and size else {}


def _find_next_cursor(schema: JsonObject) -> str:
    """Returns a JSON pointer to the cursor of the next page, one level down at most."""
    properties = schema.get("properties", {})
    names = {name.replace("-", "_").lower(): name for name in properties}
    for word in _NEXT:
        if word in names and properties[names[word]].get("type") != "array":
            return f"/{names[word]}"
    for holder in ("meta", "pagination", "paging", "links", "_links", "page_info", "pageinfo"):
        if holder in names:
            inner = _find_next_cursor(properties[names[holder]]) if properties[names[holder]].get("properties") else ""
            if inner.count("/") == 1:
                return f"/{names[holder]}{inner}"
    return ""


def describe_paging(paging: JsonObject) -> str:
    """Returns a sentence for the description."""
    match paging.get("style"):
        case "cursor":
            source = f" from `{paging['next'].strip('/').replace('/', '.')}`" if "next" in paging else ""
            return f"Answers come in pages; ask for the next one with `{paging['argument']}`{source}."
        case "page":
            return f"Answers come in pages; ask for the next one with `{paging['argument']}`."
        case "offset":
            return f"Answers come in pages; skip what is known already with `{paging['argument']}`."
    return ""


MOST_SENTENCES = 5
_MOST = 1_200
_END = re.compile(r"""[.!?]+["'”’)\]}]*(?=\s+["'“‘(\[{]*[A-Z0-9À-Þ]|\s*\Z)""")
_ABBREVIATED = ("e.g.", "i.e.")
_MARKUP = re.compile(r"<[^<>]{1,200}>|!\[[^\]]*\]\([^)]*\)|^#{1,6}\s+", re.MULTILINE)


def build_title(operation: Operation, name: str) -> str:
    """Returns a short title: the summary, or the name in words."""
    summary = " ".join(operation.summary.split()).rstrip(".")
    if 0 < len(summary) <= 80:
        return summary
    words = " ".join(split_words(name))
    return words[:1].upper() + words[1:]


def build_description(operation: Operation, api: str, paging: JsonObject) -> str:
    """Returns two to five sentences: the document's own, and the address of the call."""
    summary = end_sentence(" ".join(operation.summary.split()))
    text = flatten_markdown(operation.description) if operation.description else ""
    if not text:
        text = summary
    elif summary and not _begins_with(text, summary):
        text = f"{summary} {text}"
    heading = operation.heading
    extra = [describe_paging(paging)] if paging else []
    if operation.is_deprecated:
        extra.append("It is deprecated.")
    if not text:
        text = f"{' '.join(split_words(heading.operation_id)).capitalize() or 'Uses the service'}."
    text = shorten_text(text, _MOST)
    ends = _find_sentence_ends(text)
    most = MOST_SENTENCES - len(extra)
    if len(ends) > most or (len(ends) == most and ends[-1] < len(text)):
        text, count = text[: ends[most - 1]], most
    else:
        text, count = end_sentence(text), len(ends) + (not ends or ends[-1] < len(text))
    if count + len(extra) < 2:
        extra.append(f"Calls {heading.method} {heading.template.partition('?')[0]}" + (f" of {api}." if api else "."))
    return " ".join([text, *extra])


def _begins_with(text: str, summary: str) -> bool:
    """Returns True when a text begins with its summary."""
    return text.lower().startswith(summary.rstrip(".").lower())


def flatten_markdown(markdown: str) -> str:
    """Converts Markdown to running text: removes headings and images, keeps lists and emphasis."""
    if "<" in markdown or "#" in markdown or "![" in markdown:
        markdown = _MARKUP.sub(" ", markdown)
    return " ".join(markdown.split())


def _find_sentence_ends(text: str) -> list[int]:
    ends = [match.end() for match in _END.finditer(text)]
    if "." in text and any(word in text.lower() for word in _ABBREVIATED):
        return [end for end in ends if text[max(0, end - 4) : end].lower() not in _ABBREVIATED]
    return ends
