"""Renders pages: templates, values as text, and the static files of the package.

Everything is escaped, always: the description of a tool is untrusted text. Static files are the same for everybody;
changed content gets a new address, so browsers may cache them forever.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ferrule.model.value import JsonObject
from ferrule.servers.asgi import Header, HttpAnswer, HttpRequest
from ferrule.servers.console.markdown import render_markdown

FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
_FOR_EVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")


@cache
def _files() -> dict[str, tuple[bytes, bytes, str]]:
    """Returns content, type and version of each file by its name below the folder."""
    found = {}
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in _TYPES:
            data = file.read_bytes()
            found[file.relative_to(FOLDER).as_posix()] = (
                data,
                _TYPES[file.suffix],
                hashlib.sha256(data).hexdigest()[:12],
            )
    return found


def address_of(name: str) -> str:
    """Returns the address of a file; changed content gets a new one, so browsers may cache it."""
    return f"/console/static/{name}?v={_files()[name][2]}"


def static_file(request: HttpRequest, name: str) -> HttpAnswer | None:
    """Returns a static file; None for an unknown name."""
    found = _files().get(name)
    if found is None or request.method not in ("GET", "HEAD"):
        return None
    return HttpAnswer(200, found[0], [(b"content-type", found[1]), _FOR_EVER])


_FOLDER = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """Returns the templates. A missing value is an error, not an empty text."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(static=address_of, query=query)
    made.filters.update(
        count=count,
        took=took,
        when=when,
        day=day,
        part=part,
        json=pretty,
        line=line,
        initials=initials,
        ago=ago,
        written=_mark_line,
        markdown=render_markdown,
    )
    return made


def render(template: str, values: JsonObject) -> bytes:
    """Renders a page or a part of one."""
    return environment().get_template(template).render(values).encode()


def count(number: float) -> str:
    """Returns a number with separators: `2,604`."""
    return f"{number:,.0f}" if isinstance(number, int) or number == int(number) else f"{number:,}"


def took(microseconds: float | None) -> str:
    """Returns a duration with its unit and a space: `0.4 ms`, `142 ms`, `3.1 s`, `6 m 09 s`, `3 h 12 m`, `3 d 4 h`. A
    dash for none.
    """
    if microseconds is None:
        return "–"
    if microseconds < 9_950:
        return f"{microseconds / 1000:.1f} ms" if microseconds >= 50 else f"{microseconds:.0f} µs"
    if microseconds < 999_500:
        return f"{microseconds / 1000:.0f} ms"
    seconds = microseconds / 1_000_000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    if whole < 24 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} m"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def ago(microseconds: float | None) -> str:
    """Returns a past duration in whole units: `8 s`, `6 min`, `2 h`, `3 d`."""
    seconds = max(0, round((microseconds or 0) / 1_000_000))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _parse_moment(at: str | float) -> datetime:
    """Parses RFC 3339, or microseconds since 1970."""
    if isinstance(at, str):
        return datetime.fromisoformat(at).astimezone(UTC)
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def when(at: str | float | None, form: str = "time") -> Markup:
    """Returns a moment as HTML: UTC, and local time as soon as a script runs; the full time in `title`. `form`: `time`
    or `full`.
    """
    if at is None:
        return Markup("–")
    moment = _parse_moment(at)
    text = f"{moment:%H:%M:%S}" if form == "time" else f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    exact = moment.isoformat().replace("+00:00", "Z")
    return Markup('<time datetime="{0}" title="{0}" data-local="{1}">{2}</time>').format(exact, form, text)


def day(at: str | float) -> str:
    """Returns the day of a moment, UTC."""
    return f"{_parse_moment(at):%Y-%m-%d}"


def part(text: str) -> str:
    """Returns a name or id quoted as one part of an address."""
    return quote(text, safe="")


def query(**members: object) -> str:
    """Returns a query of the members that have a value: `?status=failed&tool=x`, or nothing."""
    given = {name: value for name, value in members.items() if value is not None and value is not False and value != ""}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def initials(name: str) -> str:
    """Returns two letters for a person."""
    words = [word for word in name.replace(".", " ").replace("-", " ").replace("_", " ").split() if word[:1].isalnum()]
    return ("".join(word[0] for word in words[:2]) if len(words) > 1 else name[:2]).upper() or "?"


def line(value: object, most: int = 120) -> str:
    """Returns a JSON value on one line, cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def normalize_json(text: str) -> str:
    """Returns JSON text on one line in one spelling: letters unescaped, a space after each comma and colon. Other text
    as it is.
    """
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def pretty(value: object) -> Markup:
    """Returns a JSON value over several lines, with its keys, texts and numbers marked."""
    return Markup("\n").join(json_lines(value))


def json_lines(value: object) -> list[Markup]:
    """Returns the lines of a marked JSON value, for views that number or compare them."""
    return [_mark_line(text) for text in json.dumps(value, indent=2, ensure_ascii=False).split("\n")]


def _mark_line(text: str) -> Markup:
    """Marks the key and the value in one line of JSON."""
    indent = text[: len(text) - len(text.lstrip())]
    rest, key = text.lstrip(), Markup("")
    if rest.startswith('"'):
        end = _end_of_text(rest)
        if rest[end : end + 2] == ": ":
            key, rest = Markup('<span class="k">{}</span>: ').format(rest[:end]), rest[end + 2 :]
    if rest.startswith('"'):
        end = _end_of_text(rest)
        return Markup('{}{}<span class="s">{}</span>{}').format(indent, key, rest[:end], rest[end:])
    if rest[:1] in "-0123456789tfn" and rest:
        bare = rest.rstrip(",")
        return Markup('{}{}<span class="n">{}</span>{}').format(indent, key, bare, rest[len(bare) :])
    return Markup("{}{}{}").format(indent, key, escape(rest))


def _end_of_text(text: str) -> int:
    """Returns the position after the closing quote of the text that begins here."""
    at = 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1
