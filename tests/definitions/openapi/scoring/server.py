"""A service made from an OpenAPI document: knows every operation, checks every request by the document, answers with samples."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from email import policy
from email.message import MIMEPart
from email.parser import BytesParser
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit
from xml.etree import ElementTree

from tests.definitions.openapi.scoring.decoding import Decoder, Pairs, Wrong, shape_of
from tests.definitions.openapi.scoring.reading import Operation, Reading
from tests.definitions.openapi.scoring.sampling import Sampler
from tests.runtime.executors.rest.server import Seen, Wire, answer, json_answer, serving

SECRET = "ann:sesame-42"
"""What every key, token, and user with password is."""
_IGNORED = frozenset({"accept", "content-type", "authorization"})
"""Headers that are not described as parameters."""


class FakeService:
    """Judges requests."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.reading = Reading(document)
        self._decoder = Decoder(self.reading.flat, self.reading.fits)
        self.refusals: list[str] = []
        self.done: list[str] = []
        """The operations that were called as the document wants it."""
        self._answered = 0
        flows = [each.get("flows") or {} for each in self.reading.schemes.values()]
        self._tokens = {
            urlsplit(flow["tokenUrl"]).path for each in flows for flow in each.values() if "tokenUrl" in flow
        }
        """Where tokens are given to whoever asks."""

    async def answering(self, seen: Seen, wire: Wire) -> bytes:
        """The answer to one request: a sample, or 400 and the reason."""
        if seen.target in self._tokens:
            return json_answer({"access_token": SECRET, "token_type": "Bearer", "expires_in": 3600})
        try:
            operation = self.checked(seen)
        except (Wrong, KeyError) as wrong:  # the latter for references of a broken document that lead nowhere
            self.refusals.append(f"{seen.method} {seen.target}: {wrong}")
            return json_answer({"reason": str(wrong)}, status=400)
        self._answered += 1
        try:
            sample = self._sample(operation, seen.method)
        except (Wrong, KeyError, RecursionError) as wrong:
            self.refusals.append(f"{operation.label} cannot be answered: {wrong!r}")
            return json_answer({"reason": "no answer can be made"}, status=400)
        self.done.append(operation.label)
        return sample

    def checked(self, seen: Seen) -> Operation:
        """The operation that a request is. Raises Wrong."""
        path, _, query = seen.target.partition("?")
        for operation in self.reading.operations:
            places = operation.matched(path) if operation.method == seen.method else None
            if places is not None:
                self._check(operation, seen, places, query)
                return operation
        raise Wrong("there is no such operation")

    def _check(self, operation: Operation, seen: Seen, places: dict[str, str], query: str) -> None:
        pairs = [
            (unquote(name), value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)
        ]
        cookies = _cookies(seen.headers.get("cookie", ""))
        taken = self._secure(operation, seen.headers, dict(pairs), dict(cookies))
        pairs = [pair for pair in pairs if ("query", pair[0]) not in taken]
        cookies = [pair for pair in cookies if ("cookie", pair[0]) not in taken]
        for parameter in operation.parameters:
            if parameter["in"] == "header" and parameter["name"].lower() in _IGNORED:
                continue
            used = self._parameter(parameter, places, pairs, cookies, seen.headers)
            pairs = [pair for pair in pairs if pair not in used]
            cookies = [pair for pair in cookies if pair not in used]
        if pairs or cookies:
            raise Wrong(f"nobody described {[name for name, _ in (*pairs, *cookies)]}")
        self._body(operation, seen)

    def _secure(
        self, operation: Operation, headers: Mapping[str, str], query: dict[str, str], cookies: dict[str, str]
    ) -> set[tuple[str, str]]:
        """Where the credentials are. Raises Wrong."""
        if not operation.security:
            return set()
        for wanted in operation.security:
            found = [self._shown(name, headers, query, cookies) for name in wanted]
            if all(found):
                return {place for place in found if place is not None}
        raise Wrong(f"it shows none of {[list(wanted) for wanted in operation.security]}")

    def _shown(
        self, name: str, headers: Mapping[str, str], query: dict[str, str], cookies: dict[str, str]
    ) -> tuple[str, str] | None:
        scheme = self.reading.followed(self.reading.schemes.get(name, {}))
        word, _, secret = headers.get("authorization", "").partition(" ")
        kind = scheme.get("type")
        if kind == "apiKey":
            key = scheme["name"]
            value = {
                "header": headers.get(key.lower(), ""),
                "query": query.get(key, ""),
                "cookie": cookies.get(key, ""),
            }
            return (scheme["in"], key) if unquote(value[scheme["in"]]) == SECRET else None
        if kind == "basic" or (kind == "http" and scheme.get("scheme", "").lower() == "basic"):
            expected = base64.b64encode(SECRET.encode()).decode()
            return ("header", "authorization") if (word.lower(), secret) == ("basic", expected) else None
        if kind in ("oauth2", "openIdConnect") or (kind == "http" and scheme.get("scheme", "").lower() == "bearer"):
            return ("header", "authorization") if (word, secret) == ("Bearer", SECRET) else None
        return None

    def _parameter(
        self,
        parameter: dict[str, Any],
        places: dict[str, str],
        pairs: Pairs,
        cookies: Pairs,
        headers: Mapping[str, str],
    ) -> Pairs:
        """The pairs that a parameter took. Raises Wrong."""
        name, place = parameter["name"], parameter["in"]
        content = parameter.get("content")
        if content:
            return self._written(parameter, next(iter(content.values())), places, pairs, cookies, headers)
        used: Pairs = []
        parameter = {**parameter, "schema": parameter.get("schema", {})}
        match place:
            case "path":
                value = self._decoder.path(places[name], parameter) if name in places else None
                is_there = name in places
            case "header":
                is_there = name.lower() in headers
                value = self._decoder.header(headers[name.lower()], parameter) if is_there else None
            case _:
                found = self._decoder.pairs(pairs if place == "query" else cookies, parameter)
                is_there = found is not None
                value, used = found if found is not None else (None, [])
        self._judge(parameter, is_there, value)
        return used

    def _written(
        self,
        parameter: dict[str, Any],
        media: dict[str, Any],
        places: dict[str, str],
        pairs: Pairs,
        cookies: Pairs,
        headers: Mapping[str, str],
    ) -> Pairs:
        """A parameter that is a document of its own."""
        name, place = parameter["name"], parameter["in"]
        listed = {"query": pairs, "cookie": cookies, "path": list(places.items())}.get(place, [])
        used = [pair for pair in listed if pair[0] == name]
        text = headers.get(name.lower()) if place == "header" else unquote(used[0][1]) if used else None
        value = _json(text) if text is not None else None
        self._judge({**parameter, "schema": media.get("schema", {})}, text is not None, value)
        return [] if place == "path" else used

    def _judge(self, parameter: dict[str, Any], is_there: bool, value: Any) -> None:
        if not is_there:
            if parameter.get("required") or parameter["in"] == "path":
                raise Wrong(f"the {parameter['in']} has no {parameter['name']}")
            return
        fault = self.reading.fault(value, parameter["schema"])
        if fault is not None:
            raise Wrong(f"{parameter['in']} {parameter['name']} = {value!r}: {fault}")

    def _body(self, operation: Operation, seen: Seen) -> None:
        kind = seen.headers.get("content-type", "")
        if operation.body is None:
            if seen.body:
                raise Wrong("nobody described a body")
            return
        if not seen.body and not kind:
            if operation.body.get("required"):
                raise Wrong("there is no body")
            return
        bare = kind.partition(";")[0].strip().lower()
        content = operation.body.get("content") or {}
        media = next((content[each] for each in content if _covers(each, bare)), None)
        if media is None:
            raise Wrong(f"the body is {kind}, not one of {list(content)}")
        media = self.reading.followed(media)
        value = self._value(bare, media, seen)
        if value is _BYTES or "schema" not in media:
            return
        fault = self.reading.fault(value, media["schema"])
        if fault is not None:
            raise Wrong(f"body: {fault}")

    def _value(self, kind: str, media: dict[str, Any], seen: Seen) -> Any:
        schema = media.get("schema", {})
        if kind == "application/json" or kind.endswith("+json"):
            return _json(seen.body.decode())
        if kind == "application/x-www-form-urlencoded":
            return self._form(seen.body.decode("ascii"), schema, media.get("encoding") or {})
        if kind == "multipart/form-data":
            return self._multipart(seen, schema, media.get("encoding") or {})
        if kind.endswith(("/xml", "+xml")):
            try:
                ElementTree.fromstring(seen.body)  # we wrote it
            except ElementTree.ParseError as error:
                raise Wrong(f"no XML: {error}") from None
            return _BYTES
        if kind.startswith("text/") or kind in ("application/yaml", "application/x-ndjson"):
            return seen.body.decode()
        return _BYTES

    def _form(self, text: str, schema: Any, encoding: dict[str, Any]) -> dict[str, Any]:
        pairs = [
            (unquote_plus(name), value) for name, _, value in (pair.partition("=") for pair in text.split("&") if pair)
        ]
        made: dict[str, Any] = {}
        for name, inner in (self.reading.flat(schema).get("properties") or {}).items():
            said = encoding.get(name) or {}
            if not {"style", "explode"} & set(said):
                own = [pair for pair in pairs if pair[0] == name]
                if own:
                    made[name] = self._field([unquote_plus(value) for _, value in own], inner)
            else:
                found = self._decoder.pairs(pairs, {**said, "name": name, "schema": inner}, plus=True)
                own = found[1] if found is not None else []
                made |= {name: found[0]} if found is not None else {}
            pairs = [pair for pair in pairs if pair not in own]
        for name, value in pairs:
            made[name] = unquote_plus(value)
        return made

    def _field(self, texts: list[str], schema: Any) -> Any:
        """A field without a style: JSON for objects, one each for lists."""
        shape = shape_of(schema, self.reading.flat)
        if shape.kind == "array":
            return self._decoder.listed(texts, shape.items)
        if len(texts) > 1:
            raise Wrong("a field is there more than once")
        return _json(texts[0]) if shape.kind == "object" else self._decoder.single(texts[0], schema)

    def _multipart(self, seen: Seen, schema: Any, encoding: dict[str, Any]) -> dict[str, Any]:
        head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
        parts: dict[str, list[MIMEPart]] = {}
        message = BytesParser(policy=policy.HTTP).parsebytes(head + seen.body)
        for part in message.iter_parts():
            parts.setdefault(str(part.get_param("name", header="content-disposition")), []).append(part)
        made: dict[str, Any] = {}
        properties = self.reading.flat(schema).get("properties") or {}
        for name, several in parts.items():
            inner = properties.get(name, True)
            shape = shape_of(inner, self.reading.flat)
            is_list = shape.kind == "array"
            wanted = (encoding.get(name) or {}).get("contentType", "")
            values = [self._part(name, part, shape.items if is_list else inner, wanted) for part in several]
            if len(values) > 1 and not is_list:
                raise Wrong(f"the part {name} is there {len(values)} times")
            made[name] = values if is_list else values[0]
        return made

    def _part(self, name: str, part: MIMEPart, schema: Any, wanted: str) -> Any:
        kind = part.get_content_type()
        if wanted and not any(_covers(each.strip(), kind) for each in wanted.split(",")):
            raise Wrong(f"the part {name} is {kind}, not {wanted}")
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        found = self.reading.flat(schema)
        if found.get("format") == "binary" or "contentMediaType" in found or (not found and part.get_filename()):
            if not part.get_filename():
                raise Wrong(f"the part {name} is no file")
            return "bytes"
        if shape_of(schema, self.reading.flat).kind != "single" or kind == "application/json":
            if kind != "application/json" and not wanted:
                raise Wrong(f"the part {name} is {kind}, not JSON")
            return _json(data.decode())
        return self._decoder.single(data.decode(), schema)

    def _sample(self, operation: Operation, method: str) -> bytes:
        status, response = self._response(operation)
        content = response.get("content") or {}
        if self.reading.is_swagger and "schema" in response:
            produces = self.reading.document.get("produces") or ["application/json"]
            is_file = response["schema"].get("type") == "file"
            content = {"application/octet-stream" if is_file else produces[0]: {"schema": response["schema"]}}
        if not content or method == "HEAD" or status in (204, 304):
            return answer(status)
        kind, media = next(iter(content.items()))
        media = self.reading.followed(media) or {}
        kind = kind.replace("*/*", "application/json").replace("/*", "/plain" if kind.startswith("text") else "/png")
        if kind == "application/json" or kind.partition(";")[0].endswith("+json"):
            return answer(status, json.dumps(self._fitting(media.get("schema", {}))).encode(), media_type=kind)
        if kind.endswith(("/xml", "+xml")):
            return answer(status, b"<answer>yes</answer>", media_type=kind)
        if kind.startswith("text/"):
            return answer(status, b"some words", media_type=kind)
        return answer(status, b"\x00\x01\x02bytes", media_type=kind)

    def _response(self, operation: Operation) -> tuple[int, dict[str, Any]]:
        """The first that is a success."""
        responses = operation.responses if isinstance(operation.responses, dict) else {}
        for status, written in responses.items():
            if status[:1] == "2" or status == "default":
                return int(status) if status.isdigit() else 200, self.reading.followed(written) or {}
        return 200, {}

    def _fitting(self, schema: Any) -> Any:
        judged = self.reading.judged(schema)
        for attempt in range(30):
            share = (0.6, 1.0, 0.0)[(self._answered + attempt) % 3]
            sampler = Sampler(f"{self._answered}/{attempt}", share, self.reading.resolve_answer)
            value = sampler.value(judged)
            if self.reading.fault(value, schema, is_answer=True) is None:
                return value
        raise Wrong(f"no sample fits {schema}")


_BYTES = object()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Wrong(f"no JSON: {text[:80]!r}") from None


def _cookies(header: str) -> Pairs:
    return [(name, value) for name, _, value in (each.partition("=") for each in header.split("; ") if each)]


def _covers(pattern: str, kind: str) -> bool:
    bare = pattern.partition(";")[0].strip().lower()
    return bare in ("*/*", kind) or (bare.endswith("/*") and kind.startswith(bare[:-1]))


@asynccontextmanager
async def running_service(document: dict[str, Any]) -> AsyncIterator[tuple[FakeService, str]]:
    """The service of a document, and its address."""
    service = FakeService(document)
    async with serving(service.answering) as server:
        yield service, server.url


def labels(document: dict[str, Any]) -> Iterator[str]:
    """What the document's operations are called."""
    for operation in Reading(document).operations:
        yield operation.label
