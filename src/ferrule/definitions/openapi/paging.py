"""How an operation that lists things gives them in pages, guessed from the names of its parameters and of its answer."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.openapi.answering import Answering
from ferrule.definitions.openapi.sending import Sending

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


def _plain(name: str) -> str:
    return name.strip("$").replace("-", "_").replace("[", "_").replace("]", "").lower().removeprefix("page_") or name


def _found(names: dict[str, str], words: frozenset[str]) -> str:
    for argument, name in names.items():
        lower = name.strip("$").replace("-", "_").lower()
        if lower in words or lower.replace("[", "_").rstrip("]") in words:
            return argument
    for argument, name in names.items():
        lower = name.lower()
        if lower.startswith("page[") and _plain(lower) in words | {"number"} & words | {"size"} & words:
            return argument
    return ""


def paging_of(sending: Sending, answering: Answering) -> dict[str, Any]:
    """The guess: `style` (cursor, page, offset or link), the arguments, and where the next cursor is; empty for none."""
    if not answering.is_list and "link" not in answering.headers:
        return {}
    names = {
        argument: parameter.name for argument, parameter in sending.arguments.items() if parameter.place == "query"
    }
    if not names:
        return {}
    size = _found(names, _SIZES)
    following = _next_of(answering.schema)
    for style, words in (("cursor", _CURSORS), ("page", _PAGES), ("offset", _OFFSETS)):
        argument = _found(names, words)
        if argument and (size or following or style == "page" or "link" in answering.headers):
            made = {"style": style, "argument": argument}
            if size:
                made["size_argument"] = size
            if following and style == "cursor":
                made["next"] = following
            return made
    return {"style": "link"} if "link" in answering.headers and size else {}


def _next_of(schema: dict[str, Any]) -> str:
    """A JSON pointer to the cursor of the next page, one level down at most."""
    properties = schema.get("properties", {})
    names = {name.replace("-", "_").lower(): name for name in properties}
    for word in _NEXT:
        if word in names and properties[names[word]].get("type") != "array":
            return f"/{names[word]}"
    for holder in ("meta", "pagination", "paging", "links", "_links", "page_info", "pageinfo"):
        if holder in names:
            inner = _next_of(properties[names[holder]]) if properties[names[holder]].get("properties") else ""
            if inner.count("/") == 1:
                return f"/{names[holder]}{inner}"
    return ""


def in_words(paging: dict[str, Any]) -> str:
    """A sentence for the description."""
    match paging.get("style"):
        case "cursor":
            source = f" from `{paging['next'].strip('/').replace('/', '.')}`" if "next" in paging else ""
            return f"Answers come in pages; ask for the next one with `{paging['argument']}`{source}."
        case "page":
            return f"Answers come in pages; ask for the next one with `{paging['argument']}`."
        case "offset":
            return f"Answers come in pages; skip what is known already with `{paging['argument']}`."
    return ""
