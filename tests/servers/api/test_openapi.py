"""The OpenAPI document and its page: for anybody, true, and without anything that runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ferrule.servers.api.openapi import build_openapi, encode_openapi, render_page
from ferrule.servers.http1.reader import URL_BYTES
from tests import ROOT
from tests.driven import driven
from tests.servers.api.api import api


@driven
async def test_anybody_may_read_what_the_api_is(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        document = await here.ask("", "GET", "/v1/openapi.json")
        assert (document.status, document.body) == (200, encode_openapi())
        readable = await here.ask("", "GET", "/v1/docs")
        assert readable.headers["content-type"] == "text/html; charset=utf-8"
        assert b"`" not in readable.body and b"`" in document.body, "names stand in code, not between backticks"
        assert b"<code>Retry-After</code> says for how long" in readable.body
        assert "script-src" not in readable.headers["content-security-policy"]
        assert readable.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        for path, reply in (("/v1/openapi.json", document), ("/v1/docs", readable)):
            assert (await here.ask("", "GET", path, If_None_Match=reply.headers["etag"])).status == 304
            assert (await here.ask("", "POST", path)).status == 405
            assert (await here.ask("", "GET", f"{path}?x=1")).status == 400
            assert (await here.ask("", "GET", path, Accept="image/png")).status == 406


def test_the_document_in_the_reference_is_the_one_that_is_served() -> None:
    assert (ROOT / "docs/reference/openapi.json").read_bytes() == encode_openapi()


def test_every_reference_in_the_document_leads_somewhere() -> None:
    document = build_openapi()
    for ref in re.findall(r'"\$ref": "#/([^"]+)"', encode_openapi().decode()):
        place = document
        for step in ref.split("/"):
            place = place[step]
        assert place


def test_the_longest_query_that_the_document_allows_is_not_too_long() -> None:
    for path, operations in build_openapi()["paths"].items():
        parameters = [one for one in operations.get("get", {}).get("parameters", ()) if one["in"] == "query"]
        size = sum(len(f"&{one['name']}=") + 12 * _longest(one["schema"]) for one in parameters)
        assert size + 4096 < URL_BYTES, path


def _longest(schema: dict[str, Any]) -> int:
    """Characters; each may be written with twelve."""
    if "enum" in schema:
        return max(len(str(value)) for value in schema["enum"])
    is_bounded = schema["type"] != "string" or "pattern" in schema
    return 60 if is_bounded else int(schema["maxLength"])


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_loads_and_runs_nothing() -> None:
    tags = _Tags()
    tags.feed(render_page().decode())
    names = {tag for tag, _ in tags.found}
    assert not names & {"script", "link", "img", "iframe", "form", "object"}
    for tag, attributes in tags.found:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src")], tag
        assert (attributes.get("href") or "#").startswith(("#", "/v1/"))
