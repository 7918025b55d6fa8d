"""Every page there is, found by following links: whoever adds a page to PAGES has it walked too."""

from __future__ import annotations

import re
from collections import Counter, deque
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote, urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ferrule.servers.api.route import Router
from ferrule.servers.console.pages import PAGES

_OF_ONE_KIND = 3
_MOST = 400
_SECONDS = 30.0
_ADDRESSES = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data")


class Seen(NamedTuple):
    """What is at one address."""

    address: str
    route: str
    """The path of its record in PAGES."""
    status: int
    kind: str
    text: str

    @property
    def is_whole(self) -> bool:
        """True for a page of its own, False for a part of one or something else."""
        return (
            self.status == 200
            and self.kind.startswith("text/html")
            and self.text.lstrip().lower().startswith("<!doctype")
        )


class Markup(HTMLParser):
    """The elements of a page as a browser would see them before any script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self._look(tag, name, value or "")

    def _look(self, tag: str, name: str, value: str) -> None:
        if name in ("href", "hx-get") and tag != "use":
            self.links.append(value)
        scheme = re.sub(r"[\x00-\x20]", "", value).partition(":")[0].lower()
        is_script = name == "data-planted" or name.startswith(("on", "hx-on")) or name == "style"
        is_script |= name in _ADDRESSES and scheme in ("javascript", "data", "vbscript")
        if is_script:
            self.wrong.append(f"<{tag} {name}={value[:60]!r}>")
        elif tag in ("iframe", "object", "embed", "base", "style"):
            self.wrong.append(f"<{tag}>")


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class Visitor:
    """Somebody signed in, without a browser."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._opener = build_opener(_Stay)
        form = urlencode({"token": token}).encode()
        reply = self._opened(
            Request(f"{url}/console/login", form, {"Content-Type": "application/x-www-form-urlencoded"})
        )
        self.cookie = str(reply[1]["set-cookie"]).partition(";")[0]

    def see(self, address: str, **headers: str) -> tuple[int, str, str]:
        """The status, the type and the text of a page."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        status, found, body = self._opened(Request(self.url + address, headers={"Cookie": self.cookie, **named}))
        return status, str(found.get("content-type", "")), body.decode("utf-8", "replace")

    def _opened(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        try:
            answer = self._opener.open(request, timeout=_SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            return answer.status or 0, {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def walked(url: str, token: str) -> list[Seen]:
    """Pages and parts: all that links lead to, a few of each kind."""
    visitor, router = Visitor(url, token), Router(PAGES)
    begin = [f"/console{page.path}" for page in PAGES if page.method == "GET" and "{" not in page.path]
    waiting, known, kinds, found = deque(begin), set(begin), Counter[tuple[str, str]](), list[Seen]()
    while waiting and len(found) < _MOST:
        address = waiting.popleft()
        path = unquote(urlsplit(address).path)
        match = router.find(path.removeprefix("/console"))
        if match is None or "GET" not in match.routes:
            continue
        route = match.routes["GET"].path
        shape = (route, ",".join(sorted(re.findall(r"[?&]([^=&]+)", address))))
        kinds[shape] += 1
        if kinds[shape] > _OF_ONE_KIND:
            continue
        status, kind, text = visitor.see(address)
        found.append(Seen(address, route, status, kind, text))
        if status != 200 or not kind.startswith("text/html"):
            continue
        for link in Markup(text).links:
            whole = urljoin(url + address, link)
            following = whole.removeprefix(url).partition("#")[0]
            if whole.startswith(f"{url}/console/") and following not in known and "/static/" not in following:
                known.add(following)
                waiting.append(following)
    return found


def chosen(seen: list[Seen], of_each: int = 1) -> list[Seen]:
    """Whole pages, a few for each record of PAGES: those that say most."""
    by_route: dict[str, list[Seen]] = {}
    for one in seen:
        if one.is_whole:
            by_route.setdefault(one.route, []).append(one)
    return [one for pages in by_route.values() for one in sorted(pages, key=lambda page: -len(page.text))[:of_each]]
