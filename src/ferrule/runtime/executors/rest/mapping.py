"""From a definition to a `Plan`: what stands in the path, the query, the headers and the body, decided before any call.

Whatever cannot be meant is refused here, in words for the author of the definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from ferrule.runtime.executors.rest.attachments import is_attachment, is_media_type
from ferrule.runtime.executors.rest.bodies import is_json
from ferrule.runtime.executors.rest.plan import NOWHERE, Place, Plan, Slot
from ferrule.runtime.executors.rest.settings import BodyKind, ParameterPlace, PlacedStyle, RestTransport
from ferrule.runtime.executors.rest.templates import PathTemplate, literal_query, template_of
from ferrule.runtime.executors.rest.values import (
    COOKIE_STYLES,
    HEADER_STYLES,
    PATH_STYLES,
    QUERY_STYLES,
    Writer,
    path_writer,
    quote,
    text_of,
)
from ferrule.schema.pointers import read_pointer

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
"""Methods that may be sent twice, because HTTP says so."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that do nothing, because HTTP says so."""
_IN_QUERY = frozenset({"GET", "HEAD", "DELETE"})
_BODILESS = frozenset({"GET", "HEAD"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")
_CLIENTS = frozenset(
    [
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
"""Headers that say how a message is carried: the client's, nobody else's."""
_CREDENTIALS = frozenset({"authorization", "proxy-authorization"})
_NOT_BY_INPUT = frozenset({"content-type", "cookie"})
_COMBINATORS = ("allOf", "anyOf", "oneOf")


class Unusable(ValueError):
    """A transport that cannot be meant as it is written. The message says what to change."""


class Own(NamedTuple):
    """Where credentials stand, which nothing else may touch."""

    headers: frozenset[str] = frozenset()
    """In lower case."""
    query: frozenset[str] = frozenset()
    cookies: frozenset[str] = frozenset()


NO_OWN = Own()


class Endpoint(NamedTuple):
    """`METHOD /path?query`, taken apart."""

    method: str
    path: str
    query: str


def endpoint_of(text: str) -> Endpoint:
    """An endpoint. Raises Unusable."""
    method, _, rest = text.partition(" ")
    if method not in METHODS or not rest.startswith("/"):
        raise Unusable("`endpoint` must be a method and a path, such as `GET /orders/{id}` (AML-41)")
    if "#" in rest:
        raise Unusable("`endpoint` has a '#', which no server would see")
    path, _, query = rest.partition("?")
    return Endpoint(method, path, query)


def plan_of(
    transport: RestTransport, base_path: str, schema: dict[str, Any], headers: dict[str, str], own: Own = NO_OWN
) -> Plan:
    """The plan of one tool. `headers`: what is sent unless the definition says otherwise; `own`: where its credentials
    stand. Raises Unusable."""
    endpoint = endpoint_of(transport.endpoint)
    path, _, query = base_path.partition("?")
    members = declared(schema)
    aliases = {place.name or name: name for name, place in transport.mapping.items() if place.place == "path"}
    template = PathTemplate(path.rstrip("/") + endpoint.path, aliases, dict(_path_writers(transport)))
    missing = [name for name in aliases.values() if name not in template.names]
    if missing:
        raise Unusable(f"`x-mapping` puts {missing[0]!r} into the path, which has no place for it")
    in_query = _query(f"{query}&{endpoint.query}", transport)
    fixed_headers, header_slots = _headers(transport, headers, own)
    slots = (*header_slots, *(pair for pair in in_query if isinstance(pair, Slot)))
    in_texts = {name for slot in slots for name in slot.template.names}
    body = _body_kind(endpoint.method, transport)
    default = Place("query" if body == "none" else "body")
    places: dict[str, Place] = dict.fromkeys((*template.names, *in_texts), NOWHERE)
    places |= dict(_places(transport, own, body))
    if body == "multipart":
        places |= {
            name: Place("file") for name, member in members.items() if name not in places and is_attachment(member)
        }
    _refuse_unknown(schema, members, places)
    reserved = _reserved(default, in_query, places, members) | (own.query if default.kind == "query" else frozenset())
    _refuse_own(own, in_query, places, members if default.kind == "query" else {})
    if default.kind == "query":
        places = {**{name: Place("query", quote(name)) for name in members}, **places}
    left = [name for name in members if places.get(name, default).kind in ("body", "file")]
    whole = _whole(transport, body, left)
    if body in ("text", "binary"):
        places[whole], default = Place("body"), Place("query")
    content_type = next((value for name, value in fixed_headers if name.lower() == "content-type"), "")
    if content_type and body in ("multipart", "form", "none"):
        raise Unusable(f"`x-headers` must not set Content-Type: a body of kind {body} has its own")
    has_cookies = any(place.kind == "cookie" for place in places.values())
    parted = {"content-type", "cookie"} if has_cookies else {"content-type"}
    return Plan(
        method=endpoint.method,
        path=template,
        query=in_query,
        headers=tuple(pair for pair in fixed_headers if pair[0].lower() not in parted),
        header_slots=header_slots,
        content_type=content_type,
        places=places,
        default=default,
        reserved=reserved,
        taken=_taken(in_query, places, members, default, own),
        odd=frozenset(name for name, place in places.items() if place.kind == "query" and _is_odd(place)),
        cookie="; ".join(value for name, value in fixed_headers if name.lower() == "cookie") if has_cookies else None,
        body=body,
        has_members=bool(left),
        whole=whole,
        is_plain_json=body == "json" and not (places or whole),
        is_base64=isinstance(members.get(whole), dict) and members[whole].get("contentEncoding") == "base64",
        attachments=tuple(
            name for name in left if body == "json" and is_attachment(members[name]) and places.get(name) != NOWHERE
        ),
    )


def declared(schema: Any) -> dict[str, Any]:
    """The members an input schema declares, in its combinators too, with their schemas."""
    if not isinstance(schema, dict):
        return {}
    found = dict(schema["properties"]) if isinstance(schema.get("properties"), dict) else {}
    for word in _COMBINATORS:
        for branch in schema.get(word) or ():
            found = {**declared(branch), **found}
    return found


def _refuse_unknown(schema: dict[str, Any], members: dict[str, Any], places: dict[str, Place]) -> None:
    """A place for an argument that nobody can give is a slip of the pen."""
    if schema.get("additionalProperties") is not False:
        return
    unknown = [name for name in places if name not in members]
    if unknown:
        raise Unusable(f"it names the argument {unknown[0]!r}, which `interface.input` does not have")


def _body_kind(method: str, transport: RestTransport) -> BodyKind:
    wanted = transport.body
    kinds = {place.place for place in transport.mapping.values()}
    if wanted is None:
        if "file" in kinds:
            wanted = "multipart"
        elif method in _IN_QUERY and "body" not in kinds:
            wanted = "none"
        else:
            wanted = "json"
    if method in _BODILESS and wanted != "none":
        raise Unusable(f"{method} requests have no body; leave out `x-body` and mappings to the body")
    if "file" in kinds and wanted != "multipart":
        raise Unusable("`in: file` needs `x-body: multipart`")
    if "body" in kinds and wanted == "none":
        raise Unusable("`in: body` and `x-body: none` contradict each other")
    return wanted


def _whole(transport: RestTransport, body: BodyKind, left: list[str]) -> str:
    """The argument that is the body, where one is."""
    said = [name for name, place in transport.mapping.items() if place.place == "body" and place.whole]
    if body in ("text", "binary"):
        said = said or [name for name, place in transport.mapping.items() if place.place == "body"] or left
        if len(said) != 1:
            raise Unusable(f"a body of kind {body} is one argument; say which with `x-mapping: {{name: {{in: body}}}}`")
    if not said:
        return ""
    if len(said) > 1 or body not in ("json", "text", "binary"):
        raise Unusable("one argument can be the whole of a body of kind json, text or binary")
    if body == "json" and left != said:
        raise Unusable(f"{said[0]!r} is the whole body, so nothing else can go there; map the others elsewhere")
    return said[0]


def _path_writers(transport: RestTransport) -> Iterator[tuple[str, Writer]]:
    for name, written in transport.mapping.items():
        if written.place == "path":
            _refuse_style(name, written, PATH_STYLES | QUERY_STYLES)
            yield name, path_writer(written.name or name, _style(name, written), written.reserved)


def _places(transport: RestTransport, own: Own, body: BodyKind) -> Iterator[tuple[str, Place]]:
    for name, written in transport.mapping.items():
        key = written.name or name
        match written.place:
            case "path":
                yield name, NOWHERE
            case "query":
                _refuse_style(name, written, QUERY_STYLES)
                yield name, Place("query", quote(key), _style(name, written), is_reserved=written.reserved)
            case "header":
                refuse_header(key, own.headers, is_input=True)
                _refuse_style(name, written, HEADER_STYLES | QUERY_STYLES, may_reserve=False)
                yield name, Place("header", key, _style(name, written))
            case "cookie":
                _refuse_cookie(key, own)
                _refuse_style(name, written, COOKIE_STYLES, may_reserve=False)
                yield name, Place("cookie", key, _style(name, written))
            case "body":
                _refuse_style(name, written, QUERY_STYLES, may_reserve=body == "form")
                yield name, _in_body(name, key, written, body)
            case "file":
                _refuse_style(name, written, QUERY_STYLES, may_reserve=False)
                yield name, Place("file", key, content_type=_media_type(name, written.content_type))


def _in_body(name: str, key: str, written: ParameterPlace, body: BodyKind) -> Place:
    if written.content_type and body not in ("form", "multipart"):
        raise Unusable(
            f"`content_type` of {name!r} is for a part of a form; say `x-headers: {{Content-Type: …}}` instead"
        )
    style = written.style if body == "multipart" else _style(name, written)
    content_type = _media_type(name, written.content_type) if body == "multipart" else ""
    steps = read_pointer(key) if key.startswith("/") else ()
    return Place("body", key, style, steps, is_reserved=written.reserved, content_type=content_type)


def _style(name: str, written: ParameterPlace) -> PlacedStyle:
    """How a parameter is written; JSON is the one media type that it can be."""
    if not written.content_type:
        return written.style
    if not is_json(written.content_type):
        raise Unusable(f"`content_type` of {name!r} must be application/json where it goes")
    return "json-text"


def _refuse_style(name: str, written: ParameterPlace, known: frozenset[str], *, may_reserve: bool = True) -> None:
    if written.style not in known:
        raise Unusable(f"`style: {written.style}` of {name!r} is not for `in: {written.place}`")
    if written.reserved and not may_reserve:
        raise Unusable(f"`reserved` of {name!r} is for paths, queries and forms")


def _refuse_cookie(key: str, own: Own) -> None:
    if not _TOKEN.fullmatch(key):
        raise Unusable(f"{key!r} is no name of a cookie")
    if key in own.cookies:
        raise Unusable(f"the cookie {key!r} is for credentials; describe them in `transport.credentials`")


def _media_type(name: str, written: str) -> str:
    if written and not is_media_type(written):
        raise Unusable(f"`content_type` of {name!r} is no media type")
    return written


def _refuse_own(own: Own, in_query: tuple[str | Slot, ...], places: dict[str, Place], members: dict[str, Any]) -> None:
    """A parameter that holds credentials is nobody else's."""
    if not own.query:
        return
    names = {unquote(pair.partition("=")[0] if isinstance(pair, str) else pair.key) for pair in in_query}
    names |= {unquote(place.key) for place in places.values() if place.kind == "query"}
    names |= {name for name in members if name not in places}
    twice = sorted(names & own.query)
    if twice:
        raise Unusable(f"the parameter {twice[0]!r} is for credentials; describe them in `transport.credentials`")


def _is_odd(place: Place) -> bool:
    """True for an argument in the query that is not written plainly."""
    return place.is_reserved or place.style in ("json-text", "form", "form-exploded")


def _taken(
    in_query: tuple[str | Slot, ...], places: dict[str, Place], members: dict[str, Any], default: Place, own: Own
) -> frozenset[str]:
    """Names that members of an object, which become parameters, must not have; empty where none do."""
    found: set[str] = set()
    kinds = {place.kind for place in places.values() if place.style == "form-exploded"}
    if "query" in kinds:
        found |= {
            unquote(pair.partition("=")[0] if isinstance(pair, str) else pair.key) for pair in in_query
        } | own.query
    if "cookie" in kinds:
        found |= own.cookies
    for kind in kinds:
        said = {name: place for name, place in places.items() if place.kind == kind and place.style != "form-exploded"}
        found |= {unquote(place.key) or name for name, place in said.items()}
        if default.kind == kind:
            found |= {name for name in members if name not in places}
    return frozenset(found | {""}) if kinds else frozenset()


def _reserved(
    default: Place, in_query: tuple[str | Slot, ...], places: dict[str, Place], members: dict[str, Any]
) -> frozenset[str]:
    """Names that an argument without a place of its own must not have. Raises Unusable for one that is declared."""
    if default.kind == "query":
        taken = {unquote(pair.partition("=")[0] if isinstance(pair, str) else pair.key) for pair in in_query}
        taken |= {unquote(place.key) for place in places.values() if place.kind == "query"}
    else:
        taken = {(place.steps or (place.key,))[0] for place in places.values() if place.kind in ("body", "file")}
    twice = [name for name in members if name in taken and name not in places]
    if twice:
        raise Unusable(
            f"{twice[0]!r} is an argument and something that the definition fixes; give one of them another name"
        )
    return frozenset(taken)


def _query(written: str, transport: RestTransport) -> tuple[str | Slot, ...]:
    """Pairs that are always the same, and those with arguments in them."""
    pairs: list[str | Slot] = []
    for pair in filter(None, written.split("&")):
        key, equals, value = pair.partition("=")
        if template_of(key).names:
            raise Unusable(
                f"the query of `endpoint` has {key} where the name of a parameter must be; write `name={key}`"
            )
        template = template_of(value)
        literals = tuple(map(literal_query, template.literals))
        if template.names:
            pairs.append(Slot(literal_query(key), template._replace(literals=literals)))
        else:
            pairs.append(literal_query(key) + equals + literals[0])
    for name, said in transport.query.items():
        for each in said if isinstance(said, list) else [said]:
            template = template_of(text_of(name, each))
            literals = tuple(map(quote, template.literals))
            if template.names:
                pairs.append(Slot(quote(name), template._replace(literals=literals)))
            else:
                pairs.append(f"{quote(name)}={literals[0]}")
    return tuple(pairs)


def _headers(
    transport: RestTransport, usual: dict[str, str], own: Own
) -> tuple[tuple[tuple[str, str], ...], tuple[Slot, ...]]:
    fixed: list[tuple[str, str]] = []
    slots: list[Slot] = []
    written = {name.lower() for name in transport.headers} | {
        (place.name or name).lower() for name, place in transport.mapping.items() if place.place == "header"
    }
    fixed += [(name, value) for name, value in usual.items() if name.lower() not in written]
    for name, said in transport.headers.items():
        text = text_of(name, said)
        template = template_of(text)
        refuse_header(name, own.headers, is_input=bool(template.names))
        if _NO_VALUE.search(text) or text != text.strip():
            raise Unusable(f"the value of the header {name!r} has characters that no header has")
        if template.names:
            slots.append(Slot(name, template))
        else:
            fixed.append((name, text))
    return tuple(fixed), tuple(slots)


def refuse_header(name: str, own: frozenset[str], *, is_input: bool) -> None:
    """Raises Unusable for a header that a definition, or an argument, must not set."""
    lower = name.lower()
    if not _TOKEN.fullmatch(name):
        raise Unusable(f"{name!r} is no name of a header")
    if lower in _CLIENTS:
        raise Unusable(f"the header {name!r} says how a request is carried; leave it out")
    if lower in _CREDENTIALS or lower in own:
        raise Unusable(f"the header {name!r} is for credentials; describe them in `transport.credentials`")
    if is_input and lower in _NOT_BY_INPUT:
        raise Unusable(f"the header {name!r} must not be filled by an argument")
