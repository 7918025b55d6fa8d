"""The compiled plan by which one tool's arguments become requests. `mapping.py` builds it once; a call fills in values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from ferrule.model.value import JsonObject
from ferrule.runtime.executors.rest.attachments import Fetch, File, check_inline, files_of
from ferrule.runtime.executors.rest.bodies import (
    JSON,
    NO_BODY,
    BodyField,
    RequestBody,
    form_body,
    json_body,
    json_bytes,
    multipart_body,
    text_body,
)
from ferrule.runtime.executors.rest.settings import BodyKind, PlacedStyle
from ferrule.runtime.executors.rest.templates import PathTemplate, Template, is_given
from ferrule.runtime.executors.rest.values import (
    cookies_of,
    encode_text,
    header_value,
    header_writer,
    pairs_of,
    quote,
    quote_reserved,
    text_of,
    unsendable,
)

Headers = Sequence[tuple[str, str]]
Files = Mapping[str, Sequence[File]]
NO_FILES: Files = {}


class RestRequest(NamedTuple):
    """A request without its credentials."""

    path: str
    """Path and query."""
    headers: Headers
    body: bytes


class Slot(msgspec.Struct, frozen=True):
    """A header or query parameter whose value is a template."""

    key: str
    """Its name; already encoded for a query."""
    template: Template


class ArgumentPlace(msgspec.Struct, frozen=True):
    """The place of one argument in the request."""

    kind: Literal["query", "header", "cookie", "body", "file", "nowhere"]
    """`nowhere`: the path or a template contains it already."""
    key: str = ""
    """Its name there, already encoded for a query. Empty: the argument's own name."""
    style: PlacedStyle = "repeat"
    steps: tuple[str, ...] = ()
    """Its path in a JSON body; empty: under its key."""
    is_reserved: bool = False
    """True when its reserved characters are not encoded."""
    content_type: str = ""
    """The media type of its multipart part; empty: by its value."""


NOWHERE = ArgumentPlace("nowhere")


class RestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled endpoint."""

    method: str
    path: PathTemplate
    query: tuple[str | Slot, ...] = ()
    """The definition's query in its order: complete `name=value` pairs, and slots."""
    headers: tuple[tuple[str, str], ...] = ()
    header_slots: tuple[Slot, ...] = ()
    content_type: str = ""
    """The content type that the author set; empty: the body's own."""
    places: dict[str, ArgumentPlace] = {}
    default: ArgumentPlace = NOWHERE
    """The place of arguments that are not in `places`."""
    reserved: frozenset[str] = frozenset()
    """Names in use there: an undeclared argument must not collide with what the definition sets."""
    taken: frozenset[str] = frozenset()
    """Names of parameters that members of an exploded object must not have."""
    odd: frozenset[str] = frozenset()
    """Arguments in the query with a style that the fast path does not write."""
    cookie: str | None = None
    """The definition's own cookies where arguments become cookies too; None where none do."""
    body: BodyKind = "none"
    has_members: bool = False
    """True when some declared argument may be in the body; then an object is sent even when it is empty."""
    whole: str = ""
    """The argument that is the complete body."""
    is_base64: bool = False
    """True when that argument is base64."""
    is_plain_json: bool = False
    """True when all arguments are members of a JSON body."""
    attachments: tuple[str, ...] = ()
    """Arguments that are attachments and stay objects in the JSON body."""

    @property
    def is_checked_early(self) -> bool:
        """True when `check` may refuse arguments; it runs before a person is asked about the call."""
        kinds = {place.kind for place in self.places.values()}
        return bool(self.path.names or self.header_slots or self.taken or kinds & {"header", "cookie"})

    @property
    def header_names(self) -> frozenset[str]:
        """The headers that it sets, in lower case."""
        placed = (place.key for place in self.places.values() if place.kind == "header")
        written = (*(name for name, _ in self.headers), *(slot.key for slot in self.header_slots), *placed)
        return frozenset(name.lower() for name in (*written, *(() if self.cookie is None else ("cookie",))))

    def check(self, arguments: JsonObject) -> None:
        """Checks the arguments that go into the path and the headers. Raises ExecutionFailed (`invalid_arguments`)."""
        self.path.fill(arguments)
        self._headers(arguments)
        if self.taken:
            self._refuse_taken(arguments)

    async def files(self, arguments: JsonObject, fetch: Fetch, most: int) -> Files:
        """Opens the files of a call, by the names of their fields. Raises ExecutionFailed."""
        if self.body == "binary":
            value = arguments.get(self.whole)
            if value is None or (isinstance(value, str) and not self.is_base64):
                return NO_FILES
            return {self.whole: await files_of(self.whole, value, fetch, most)}
        found: dict[str, Sequence[File]] = {}
        for name, value in arguments.items():
            place = self.places.get(name, self.default)
            if place.kind == "file" and value is not None:
                several = await files_of(name, value, fetch, most)
                if place.content_type:
                    several = [file._replace(media_type=place.content_type) for file in several]
                found[place.key or name] = several
        return found

    def request(self, arguments: JsonObject, files: Files = NO_FILES) -> RestRequest:
        """Builds the request of a call. Raises ExecutionFailed (`invalid_arguments`)."""
        for name in self.attachments:
            check_inline(name, arguments.get(name))
        path = self.path.fill(arguments)
        headers = self._headers(arguments)
        if self.is_plain_json:
            pairs, body = self._written_pairs(arguments), self._plain_json(arguments)
        else:
            pairs, fields = self._split_arguments(arguments)
            body = self._body(arguments, fields, files)
        if pairs:
            path = f"{path}?{'&'.join(pairs)}"
        if body is not NO_BODY:
            headers.append(("Content-Type", self.content_type or body.media_type))
        return RestRequest(path, headers, body.data)

    def _plain_json(self, arguments: JsonObject) -> RequestBody:
        return RequestBody(JSON, json_bytes(arguments)) if self.has_members or arguments else NO_BODY

    def _split_arguments(self, arguments: JsonObject) -> tuple[list[str], list[BodyField]]:
        """Splits the arguments into pairs of the query and fields of the body."""
        pairs, fields = self._written_pairs(arguments) if self.query else [], []
        places, default = self.places, self.default
        for name, value in arguments.items():
            place = places.get(name, default)
            if name in self.reserved and name not in places:
                raise unsendable(name, "has a name that the definition uses for something else")
            if place.kind == "query":
                if name in self.odd:
                    quote_with = quote_reserved if place.is_reserved else quote
                    pairs += pairs_of(place.key, name, value, place.style, quote_with)
                elif value.__class__ is int and place.key:  # fast path: by far the most common types
                    pairs.append(f"{place.key}={value}")
                elif value.__class__ is str and place.key:
                    pairs.append(f"{place.key}={encode_text(name, value, quote)}")
                else:
                    pairs += pairs_of(place.key or encode_text(name, name, quote), name, value, place.style, quote)
            elif place.kind == "body":
                fields.append(_field(name, value, place))
        if self.taken:
            self._refuse_taken(arguments)
        return pairs, fields

    def _refuse_taken(self, arguments: JsonObject) -> None:
        """Raises ExecutionFailed when a member of an exploded object has the name of another parameter."""
        others = [name for name in arguments if name not in self.places]
        taken = set(self.taken)
        for name, place in self.places.items():
            value = arguments.get(name) if place.style == "form-exploded" else None
            if not isinstance(value, dict):
                continue
            # Arguments without a place of their own go to the default place under their own names.
            if not taken.isdisjoint(value) or (place.kind == self.default.kind and not value.keys().isdisjoint(others)):
                raise unsendable(name, "has a member with the name of another parameter")
            taken.update(value)

    def _written_pairs(self, arguments: JsonObject) -> list[str]:
        pairs: list[str] = []
        for pair in self.query:
            if isinstance(pair, str):
                pairs.append(pair)
            else:
                pairs += _slot_pairs(pair, arguments)
        return pairs

    def _headers(self, arguments: JsonObject) -> list[tuple[str, str]]:
        made = list(self.headers)
        for slot in self.header_slots:
            if is_given(slot.template, arguments):
                literals, names = slot.template
                value = literals[0]
                for index, name in enumerate(names):
                    value += header_value(name, arguments[name]) + literals[index + 1]
                made.append((slot.key, value))
        if self.places:
            for name, place in self.places.items():
                if place.kind == "header" and arguments.get(name) not in (None, {}):
                    made.append((place.key, header_writer(place.style)(name, arguments[name])))
        if self.cookie is not None and (cookie := self._cookies(arguments)):
            made.append(("Cookie", cookie))
        return made

    def _cookies(self, arguments: JsonObject) -> str:
        cookies = [self.cookie] if self.cookie else []
        for name, place in self.places.items():
            if place.kind == "cookie" and arguments.get(name) is not None:
                cookies += cookies_of(place.key, name, arguments[name], place.style)
        return "; ".join(cookies)

    def _body(self, arguments: JsonObject, fields: list[BodyField], files: Files) -> RequestBody:
        if self.whole:
            return self._whole_body(arguments[self.whole], files) if self.whole in arguments else NO_BODY
        if not (fields or files or self.has_members):
            return NO_BODY
        match self.body:
            case "json":
                return json_body(fields)
            case "form":
                return form_body(fields)
            case "multipart":
                return multipart_body(fields, files)
        return NO_BODY

    def _whole_body(self, value: object, files: Files) -> RequestBody:
        """Writes the argument that is the complete body; no body for null, except in JSON."""
        if value is None and self.body != "json":
            return NO_BODY
        if self.body == "json":
            return RequestBody(JSON, json_bytes(value))
        if self.body == "text" or self.whole not in files:
            return text_body(BodyField(self.whole, self.whole, value))
        file = files[self.whole][0]
        return RequestBody(file.media_type, file.data)


def _field(name: str, value: object, place: ArgumentPlace) -> BodyField:
    key = place.key or name
    return BodyField(name, key, value, place.style, place.steps, place.content_type, place.is_reserved)


def _slot_pairs(slot: Slot, arguments: JsonObject) -> list[str]:
    """Fills a slot of the query; returns nothing when one of its arguments is absent."""
    template = slot.template
    if not is_given(template, arguments):
        return []
    if template.is_bare:
        name = template.names[0]
        return list(pairs_of(slot.key, name, arguments[name], "repeat", quote))
    made = template.literals[0]
    for index, name in enumerate(template.names):
        made += encode_text(name, text_of(name, arguments[name]), quote) + template.literals[index + 1]
    return [f"{slot.key}={made}"]
