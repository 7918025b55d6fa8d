"""Compiles a definition to a `RestPlan`: what goes into the path, the query, the headers and the body.

All of it is decided before any call; a contradictory definition is refused here, in words for its author.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from ferrule.model.value import JsonObject
from ferrule.runtime.executors.rest.attachments import is_attachment, is_media_type
from ferrule.runtime.executors.rest.bodies import is_json
from ferrule.runtime.executors.rest.plan import NOWHERE, ArgumentPlace, RestPlan, Slot
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
"""The methods that an endpoint may have."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing, by the HTTP standard."""
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
"""Headers about the transmission itself: only the HTTP client sets them."""
_CREDENTIALS = frozenset({"authorization", "proxy-authorization"})
_NOT_BY_INPUT = frozenset({"content-type", "cookie"})
_COMBINATORS = ("allOf", "anyOf", "oneOf")


class BadMapping(ValueError):
    """An invalid transport. The message says what to change."""


class ReservedPlaces(NamedTuple):
    """Headers, query parameters and cookies that credentials use, and nothing else may."""

    headers: frozenset[str] = frozenset()
    """In lower case."""
    query: frozenset[str] = frozenset()
    cookies: frozenset[str] = frozenset()


NOTHING_RESERVED = ReservedPlaces()


class RestEndpoint(NamedTuple):
    """The parts of `METHOD /path?query`."""

    method: str
    path: str
    query: str


def endpoint_of(text: str) -> RestEndpoint:
    """Parses an endpoint. Raises BadMapping."""
    method, _, rest = text.partition(" ")
    if method not in METHODS or not rest.startswith("/"):
        raise BadMapping("`endpoint` must be a method and a path, such as `GET /orders/{id}` (AML-41)")
    if "#" in rest:
        raise BadMapping("`endpoint` has a '#', which no server would see")
    path, _, query = rest.partition("?")
    return RestEndpoint(method, path, query)


def plan_of(
    transport: RestTransport,
    base_path: str,
    schema: JsonObject,
    headers: dict[str, str],
    own: ReservedPlaces = NOTHING_RESERVED,
) -> RestPlan:
    """Compiles the plan of one tool. `headers`: the defaults, which the definition may override; `own`: places of its
    credentials. Raises BadMapping."""
    endpoint = endpoint_of(transport.endpoint)
    path, _, query = base_path.partition("?")
    members = declared_members(schema)
    aliases = {place.name or name: name for name, place in transport.mapping.items() if place.place == "path"}
    template = PathTemplate(path.rstrip("/") + endpoint.path, aliases, dict(_path_writers(transport)))
    missing = [name for name in aliases.values() if name not in template.names]
    if missing:
        raise BadMapping(f"`x-mapping` puts {missing[0]!r} into the path, which has no place for it")
    in_query = _query(f"{query}&{endpoint.query}", transport)
    fixed_headers, header_slots = _headers(transport, headers, own)
    slots = (*header_slots, *(pair for pair in in_query if isinstance(pair, Slot)))
    in_texts = {name for slot in slots for name in slot.template.names}
    body = _body_kind(endpoint.method, transport)
    default = ArgumentPlace("query" if body == "none" else "body")
    places: dict[str, ArgumentPlace] = dict.fromkeys((*template.names, *in_texts), NOWHERE)
    # What the path or a template names goes nowhere else, unless `x-mapping` gives it one more place.
    places |= dict(_places(transport, own, body))
    if body == "multipart":
        places |= {
            name: ArgumentPlace("file")
            for name, member in members.items()
            if name not in places and is_attachment(member)
        }
    _refuse_unknown(schema, members, places)
    reserved = _reserved_names(default, in_query, places, members) | (
        own.query if default.kind == "query" else frozenset()
    )
    _refuse_own(own, in_query, places, members if default.kind == "query" else {})
    if default.kind == "query":
        # Names are encoded here, once, and not with every call.
        places = {**{name: ArgumentPlace("query", quote(name)) for name in members}, **places}
    left = [name for name in members if places.get(name, default).kind in ("body", "file")]
    whole = _whole_body_argument(transport, body, left)
    if body in ("text", "binary"):
        # Beside a body that is one argument, only the query is left for the others.
        places[whole], default = ArgumentPlace("body"), ArgumentPlace("query")
    content_type = next((value for name, value in fixed_headers if name.lower() == "content-type"), "")
    if content_type and body in ("multipart", "form", "none"):
        raise BadMapping(f"`x-headers` must not set Content-Type: a body of kind {body} has its own")
    # Cookies of arguments join the definition's own in one header, so those are kept apart.
    has_cookies = any(place.kind == "cookie" for place in places.values())
    parted = {"content-type", "cookie"} if has_cookies else {"content-type"}
    return RestPlan(
        method=endpoint.method,
        path=template,
        query=in_query,
        headers=tuple(pair for pair in fixed_headers if pair[0].lower() not in parted),
        header_slots=header_slots,
        content_type=content_type,
        places=places,
        default=default,
        reserved=reserved,
        taken=_taken_names(in_query, places, members, default, own),
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


def declared_members(schema: object) -> JsonObject:
    """Returns the members that an input schema declares, also within combinators, with their schemas."""
    if not isinstance(schema, dict):
        return {}
    found = dict(schema["properties"]) if isinstance(schema.get("properties"), dict) else {}
    for word in _COMBINATORS:
        for branch in schema.get(word) or ():
            found = {**declared_members(branch), **found}
    return found


def _refuse_unknown(schema: JsonObject, members: JsonObject, places: dict[str, ArgumentPlace]) -> None:
    # A place for an argument that the closed input schema does not have is most likely a typo.
    if schema.get("additionalProperties") is not False:
        return
    unknown = [name for name in places if name not in members]
    if unknown:
        raise BadMapping(f"it names the argument {unknown[0]!r}, which `interface.input` does not have")


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
        raise BadMapping(f"{method} requests have no body; leave out `x-body` and mappings to the body")
    if "file" in kinds and wanted != "multipart":
        raise BadMapping("`in: file` needs `x-body: multipart`")
    if "body" in kinds and wanted == "none":
        raise BadMapping("`in: body` and `x-body: none` contradict each other")
    return wanted


def _whole_body_argument(transport: RestTransport, body: BodyKind, left: list[str]) -> str:
    """Returns the argument that is the complete body; empty when there is none."""
    mapped = [name for name, place in transport.mapping.items() if place.place == "body" and place.whole]
    if body in ("text", "binary"):
        mapped = mapped or [name for name, place in transport.mapping.items() if place.place == "body"] or left
        if len(mapped) != 1:
            raise BadMapping(
                f"a body of kind {body} is one argument; say which with `x-mapping: {{name: {{in: body}}}}`"
            )
    if not mapped:
        return ""
    if len(mapped) > 1 or body not in ("json", "text", "binary"):
        raise BadMapping("one argument can be the whole of a body of kind json, text or binary")
    if body == "json" and left != mapped:
        raise BadMapping(f"{mapped[0]!r} is the whole body, so nothing else can go there; map the others elsewhere")
    return mapped[0]


def _path_writers(transport: RestTransport) -> Iterator[tuple[str, Writer]]:
    for name, written in transport.mapping.items():
        if written.place == "path":
            _refuse_style(name, written, PATH_STYLES | QUERY_STYLES)
            yield name, path_writer(written.name or name, _style(name, written), written.reserved)


def _places(transport: RestTransport, own: ReservedPlaces, body: BodyKind) -> Iterator[tuple[str, ArgumentPlace]]:
    for name, written in transport.mapping.items():
        key = written.name or name
        match written.place:
            case "path":
                yield name, NOWHERE
            case "query":
                _refuse_style(name, written, QUERY_STYLES)
                yield name, ArgumentPlace("query", quote(key), _style(name, written), is_reserved=written.reserved)
            case "header":
                refuse_header(key, own.headers, is_input=True)
                _refuse_style(name, written, HEADER_STYLES | QUERY_STYLES, may_reserve=False)
                yield name, ArgumentPlace("header", key, _style(name, written))
            case "cookie":
                _refuse_cookie(key, own)
                _refuse_style(name, written, COOKIE_STYLES, may_reserve=False)
                yield name, ArgumentPlace("cookie", key, _style(name, written))
            case "body":
                _refuse_style(name, written, QUERY_STYLES, may_reserve=body == "form")
                yield name, _in_body(name, key, written, body)
            case "file":
                _refuse_style(name, written, QUERY_STYLES, may_reserve=False)
                yield name, ArgumentPlace("file", key, content_type=_media_type(name, written.content_type))


def _in_body(name: str, key: str, written: ParameterPlace, body: BodyKind) -> ArgumentPlace:
    if written.content_type and body not in ("form", "multipart"):
        raise BadMapping(
            f"`content_type` of {name!r} is for a part of a form; say `x-headers: {{Content-Type: …}}` instead"
        )
    style = written.style if body == "multipart" else _style(name, written)
    content_type = _media_type(name, written.content_type) if body == "multipart" else ""
    steps = read_pointer(key) if key.startswith("/") else ()
    return ArgumentPlace("body", key, style, steps, is_reserved=written.reserved, content_type=content_type)


def _style(name: str, written: ParameterPlace) -> PlacedStyle:
    """Returns the style of a parameter; the only media type it may have is JSON."""
    if not written.content_type:
        return written.style
    if not is_json(written.content_type):
        raise BadMapping(f"`content_type` of {name!r} must be application/json where it goes")
    return "json-text"


def _refuse_style(name: str, written: ParameterPlace, known: frozenset[str], *, may_reserve: bool = True) -> None:
    if written.style not in known:
        raise BadMapping(f"`style: {written.style}` of {name!r} is not for `in: {written.place}`")
    if written.reserved and not may_reserve:
        raise BadMapping(f"`reserved` of {name!r} is for paths, queries and forms")


def _refuse_cookie(key: str, own: ReservedPlaces) -> None:
    if not _TOKEN.fullmatch(key):
        raise BadMapping(f"{key!r} is no name of a cookie")
    if key in own.cookies:
        raise BadMapping(f"the cookie {key!r} is for credentials; describe them in `transport.credentials`")


def _media_type(name: str, written: str) -> str:
    if written and not is_media_type(written):
        raise BadMapping(f"`content_type` of {name!r} is no media type")
    return written


def _refuse_own(
    own: ReservedPlaces, in_query: tuple[str | Slot, ...], places: dict[str, ArgumentPlace], members: JsonObject
) -> None:
    """Raises BadMapping when something else uses a parameter that credentials use."""
    if not own.query:
        return
    names = {unquote(pair.partition("=")[0] if isinstance(pair, str) else pair.key) for pair in in_query}
    names |= {unquote(place.key) for place in places.values() if place.kind == "query"}
    names |= {name for name in members if name not in places}
    twice = sorted(names & own.query)
    if twice:
        raise BadMapping(f"the parameter {twice[0]!r} is for credentials; describe them in `transport.credentials`")


def _is_odd(place: ArgumentPlace) -> bool:
    """Returns True for an argument in the query with a style that the fast path does not write."""
    return place.is_reserved or place.style in ("json-text", "form", "form-exploded")


def _taken_names(
    in_query: tuple[str | Slot, ...],
    places: dict[str, ArgumentPlace],
    members: JsonObject,
    default: ArgumentPlace,
    own: ReservedPlaces,
) -> frozenset[str]:
    """Returns names that members of an exploded object must not have, as other parameters use them."""
    found: set[str] = set()
    kinds = {place.kind for place in places.values() if place.style == "form-exploded"}
    if "query" in kinds:
        found |= {
            unquote(pair.partition("=")[0] if isinstance(pair, str) else pair.key) for pair in in_query
        } | own.query
    if "cookie" in kinds:
        found |= own.cookies
    for kind in kinds:
        mapped = {
            name: place for name, place in places.items() if place.kind == kind and place.style != "form-exploded"
        }
        found |= {unquote(place.key) or name for name, place in mapped.items()}
        if default.kind == kind:
            found |= {name for name in members if name not in places}
    return frozenset(found | {""}) if kinds else frozenset()


def _reserved_names(
    default: ArgumentPlace, in_query: tuple[str | Slot, ...], places: dict[str, ArgumentPlace], members: JsonObject
) -> frozenset[str]:
    """Returns names that arguments without a declared place must not have. Raises BadMapping for a declared one."""
    if default.kind == "query":
        taken = {unquote(pair.partition("=")[0] if isinstance(pair, str) else pair.key) for pair in in_query}
        taken |= {unquote(place.key) for place in places.values() if place.kind == "query"}
    else:
        taken = {(place.steps or (place.key,))[0] for place in places.values() if place.kind in ("body", "file")}
    twice = [name for name in members if name in taken and name not in places]
    if twice:
        raise BadMapping(
            f"{twice[0]!r} is an argument and something that the definition fixes; give one of them another name"
        )
    return frozenset(taken)


def _query(written: str, transport: RestTransport) -> tuple[str | Slot, ...]:
    """Compiles the query: pairs that are always the same, and slots for those with arguments."""
    pairs: list[str | Slot] = []
    for pair in filter(None, written.split("&")):
        key, equals, value = pair.partition("=")
        if template_of(key).names:
            raise BadMapping(
                f"the query of `endpoint` has {key} where the name of a parameter must be; write `name={key}`"
            )
        template = template_of(value)
        literals = tuple(map(literal_query, template.literals))
        if template.names:
            pairs.append(Slot(literal_query(key), template._replace(literals=literals)))
        else:
            pairs.append(literal_query(key) + equals + literals[0])
    for name, mapped in transport.query.items():
        for each in mapped if isinstance(mapped, list) else [mapped]:
            template = template_of(text_of(name, each))
            literals = tuple(map(quote, template.literals))
            if template.names:
                pairs.append(Slot(quote(name), template._replace(literals=literals)))
            else:
                pairs.append(f"{quote(name)}={literals[0]}")
    return tuple(pairs)


def _headers(
    transport: RestTransport, usual: dict[str, str], own: ReservedPlaces
) -> tuple[tuple[tuple[str, str], ...], tuple[Slot, ...]]:
    fixed: list[tuple[str, str]] = []
    slots: list[Slot] = []
    written = {name.lower() for name in transport.headers} | {
        (place.name or name).lower() for name, place in transport.mapping.items() if place.place == "header"
    }
    fixed += [(name, value) for name, value in usual.items() if name.lower() not in written]
    for name, mapped in transport.headers.items():
        text = text_of(name, mapped)
        template = template_of(text)
        refuse_header(name, own.headers, is_input=bool(template.names))
        if _NO_VALUE.search(text) or text != text.strip():
            raise BadMapping(f"the value of the header {name!r} has characters that no header has")
        if template.names:
            slots.append(Slot(name, template))
        else:
            fixed.append((name, text))
    return tuple(fixed), tuple(slots)


def refuse_header(name: str, own: frozenset[str], *, is_input: bool) -> None:
    """Raises BadMapping for a header that a definition, or an argument, must not set."""
    lower = name.lower()
    if not _TOKEN.fullmatch(name):
        raise BadMapping(f"{name!r} is no name of a header")
    if lower in _CLIENTS:
        raise BadMapping(f"the header {name!r} says how a request is carried; leave it out")
    if lower in _CREDENTIALS or lower in own:
        raise BadMapping(f"the header {name!r} is for credentials; describe them in `transport.credentials`")
    if is_input and lower in _NOT_BY_INPUT:
        raise BadMapping(f"the header {name!r} must not be filled by an argument")
