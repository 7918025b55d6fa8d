"""A real OpenID provider (the npm package `oidc-provider`) as a child process, and a browser that clicks through its pages."""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from tests.services import missing

_VERSION = "9"
_SCRIPT = Path(__file__).with_name("provider.mjs")
_INPUT = re.compile(r"<input[^>]*?>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_FORM = re.compile(r"<form[^>]*?>.*?</form>", re.IGNORECASE | re.DOTALL)
_MOST_STEPS = 20


def _package() -> Path:
    """The folder with the package, installed once and kept."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing("oidc-provider", "node and npm are not installed")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir())
    folder = cache / f"ferrule-tests-oidc-provider-{_VERSION}"
    if not (folder / "package.json").exists():
        made = Path(tempfile.mkdtemp(dir=cache))
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(made), f"oidc-provider@{_VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode != 0:
            shutil.rmtree(made)
            missing("oidc-provider", "npm could not install it")
        try:
            made.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(made)
    return folder


class Provider:
    """The running provider."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def asked(self) -> dict[str, int]:
        """How often the token endpoint was asked, by grant."""
        counts: dict[str, int] = self._get("/_asked")["asked"]
        return counts

    def seen(self) -> list[dict[str, Any]]:
        """What the token endpoint saw, in order."""
        found: list[dict[str, Any]] = self._get("/_asked")["seen"]
        return found

    def forget(self) -> None:
        """Let the provider forget every token and every consent."""
        self._get("/_forget")

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.issuer + path, timeout=10) as answer:
            return json.load(answer)


@contextmanager
def running_provider(**options: Any) -> Iterator[Provider]:
    """A provider of its own, ended afterwards. `ttl`: how long access tokens last, in seconds."""
    folder = _package()
    node = shutil.which("node") or "node"
    process = subprocess.Popen(
        [node, str(_SCRIPT), str(folder), json.dumps(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        issuer = process.stdout.readline().strip()
        assert issuer.startswith("http://127.0.0.1:"), "the provider did not start"
        yield Provider(issuer)
    finally:
        process.kill()
        process.wait(timeout=10)
        process.stdout.close()


class _StopRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects until one leads to a given address."""

    def __init__(self, stop_at: str) -> None:
        self._stop_at = stop_at

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        if self._stop_at and newurl.startswith(self._stop_at):
            raise _ReachedAddress(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _ReachedAddress(Exception):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Browser:
    """A user with cookies who logs in and consents to everything."""

    def __init__(self, login: str = "alice") -> None:
        self._login = login
        self._cookies = CookieJar()

    async def visit(self, url: str, stop_at: str = "") -> str:
        """Click through; gives the text of the last page, or the address that begins with `stop_at` without going there."""
        return await asyncio.to_thread(self.visit_now, url, stop_at)

    def visit_now(self, url: str, stop_at: str = "") -> str:
        """The same, from a thread."""
        opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self._cookies), _StopRedirects(stop_at), urllib.request.ProxyHandler({})
        )
        data: bytes | None = None
        try:
            for _ in range(_MOST_STEPS):
                with opener.open(url, data, timeout=10) as answer:
                    page, url = str(answer.read().decode()), answer.url
                form = _FORM.search(page)
                if form is None:
                    return page
                url, data = urljoin(url, _find_action(form[0]) or url), urlencode(self._fill_form(form[0])).encode()
        except _ReachedAddress as arrived:
            return arrived.url
        except urllib.error.HTTPError as error:
            with error:
                return f"{error.code} {error.read().decode()}"
        raise AssertionError("the provider asks for ever")

    def _fill_form(self, form: str) -> dict[str, str]:
        fields = {}
        for tag in _INPUT.findall(form):
            said = dict(_ATTRIBUTE.findall(tag))
            if "name" in said:
                fields[said["name"]] = html.unescape(said.get("value", ""))
        return {name: (self._login if name in ("login", "password") else value) for name, value in fields.items()}


def _find_action(form: str) -> str:
    return html.unescape(dict(_ATTRIBUTE.findall(form.partition(">")[0])).get("action", ""))


def read_parameters(url: str) -> dict[str, str]:
    """What a redirect brings, by name."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
