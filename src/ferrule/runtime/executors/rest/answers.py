"""Reads HTTP answers into outputs: JSON becomes a value, text a string, everything else a stored file.

The executor hands over a successful answer; its size is bounded while it is read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

import msgspec

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output
from ferrule.infra.network.client import Response
from ferrule.infra.network.request import BrokenAnswer, TooLong
from ferrule.runtime.executors.rest.settings import AnswerSettings
from ferrule.schema.pointers import find_at, read_pointer

_EMPTY_BY_STATUS = frozenset({201, 202, 204, 205})
"""Statuses that may come without a body, whatever the output schema says."""
_TEXTS = frozenset(
    [
        "application/graphql",
        "application/javascript",
        "application/json-lines",
        "application/json-seq",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-www-form-urlencoded",
        "application/x-yaml",
        "application/xml",
        "application/xml-dtd",
        "application/yaml",
    ]
)
_CHARSETS = re.compile(
    r"utf-?(8|16|32)(-?[bl]e)?|(us-)?ascii|iso-?8859-\d{1,2}|latin-?[19]|windows-125\d|cp-?\d{3,4}|koi8-[ru]|big5(-hkscs)?"
    r"|gb2312|gbk|gb18030|euc-(jp|kr)|shift[-_]jis|iso-2022-(jp|kr)|tis-620|mac[-_]roman"
)
_FILE_NAME = re.compile(
    r'filename\*\s*=\s*utf-8\'[^\']*\'([^;\s]+)|filename\s*=\s*(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE
)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_NO_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_HEAD_HEADERS = (
    "allow",
    "content-length",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "cache-control",
    "expires",
)
"""Headers returned as the result of a HEAD request."""


class ContentType(NamedTuple):
    """A media type and its charset."""

    media_type: str
    charset: str
    kind: str
    """`json`, `text`, `binary`, or empty when there is no media type."""


@lru_cache(256)
def content_type_of(header: str) -> ContentType:
    """Parses a `Content-Type` header."""
    written, *parameters = header.split(";")
    media_type, charset = written.strip().lower(), ""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").lower()
    return ContentType(media_type, charset if _CHARSETS.fullmatch(charset) else "", _kind(media_type))


def _kind(media_type: str) -> str:
    if media_type in ("application/json", "text/json") or media_type.endswith("+json"):
        return "json"
    if media_type.startswith("text/") or media_type in _TEXTS or media_type.endswith(("+xml", "+yaml")):
        return "text"
    return "binary" if media_type else ""


class BodyStream:
    """A body being streamed into the payload store. Closed when garbage-collected, so that its connection is not held."""

    def __init__(self, response: Response, host: str, most: int) -> None:
        self._response = response
        self._host = host
        self._most = most
        self._pieces: AsyncIterator[bytes] | None = None
        self._size = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Returns the next piece. Raises ExecutionFailed."""
        if self._pieces is None:
            self._pieces = self._response.pieces()
        try:
            piece = await anext(self._pieces)
        except BrokenAnswer as error:
            raise broken_answer(self._host, error) from None
        except TooLong:
            raise answer_too_long(self._host, self._most) from None
        self._size += len(piece)
        if self._size > self._most:
            await self.aclose()
            raise answer_too_long(self._host, self._most)
        return piece

    async def aclose(self) -> None:
        """Stops reading and closes the response."""
        close = getattr(self._pieces, "aclose", None)
        if close is not None:
            await close()
        self._response.close()

    def __del__(self) -> None:
        self._response.close()


class AnswerReader:
    """Reader of the answers of one tool."""

    __slots__ = ("_answer", "_clean", "_has_schema", "_host", "_is_action", "_most", "_tool_id")

    def __init__(
        self,
        tool_id: str,
        host: str,
        answer: AnswerSettings,
        most: int,
        *,
        has_schema: bool,
        is_action: bool,
        clean: Callable[[bytes], bytes] = lambda data: data,
    ) -> None:
        """`most`: largest answer in bytes; `has_schema`: text must be a member of an object; `clean` removes known secrets."""
        self._tool_id = tool_id
        self._host = host
        self._answer = answer
        self._most = most
        self._has_schema = has_schema
        self._is_action = is_action
        self._clean = clean

    async def output(self, method: str, response: Response) -> Output:
        """Reads the output of a successful answer. Raises ExecutionFailed, TooLong, BrokenAnswer."""
        headers = response.headers
        content_type = content_type_of(headers.get("content-type", ""))
        kind = self._answer.type or content_type.kind
        if method == "HEAD":
            response.close()
            selected = {name: headers[name] for name in _HEAD_HEADERS if name in headers}
            return Output({"status": response.status, "headers": selected})
        if kind == "binary" and response.status not in (204, 205) and headers.get("content-length") != "0":
            return self._stream(response, content_type)
        body = await response.read(self._most)
        if not body:
            is_yes = response.status in _EMPTY_BY_STATUS or self._is_action or self._answer.empty
            return Output(EMPTY, is_acknowledgement=is_yes)
        if kind == "json":
            return self._select_output(self._json(body, content_type))
        return self._text_or_guess(body, content_type, kind)

    def _stream(self, response: Response, content_type: ContentType) -> Output:
        return Output(
            stream=BodyStream(response, self._host, self._most),
            media_type=content_type.media_type
            if _MEDIA_TYPE.fullmatch(content_type.media_type)
            else "application/octet-stream",
            file_name=self._file_name(response),
        )

    def _file_name(self, response: Response) -> str:
        # Redacted before it is shortened to a name: afterwards a secret in it would no longer be recognised.
        suggested = response.headers.get("content-disposition", "")
        return _file_name(self._clean(suggested.encode("latin-1", "replace")).decode("latin-1")) if suggested else ""

    def _json(self, body: bytes, content_type: ContentType) -> Any:
        value = _parse_json(body, content_type.charset)
        if value is _NO_JSON:
            raise ExecutionFailed(
                "execution_failed",
                f"{self._host} said that its answer to {self._tool_id!r} is JSON, and it is not; the service has to be mended,"
                " or the definition has to say what comes (`x-response`)",
                code="broken_json",
                native_error_ref="http:broken_json",
            )
        return value

    def _select_output(self, value: object) -> Output:
        answer = self._answer
        if answer.pointer:
            found = find_at(value, read_pointer(f"/{answer.pointer.removeprefix('/')}"))
            if found is None:
                raise ExecutionFailed(
                    "execution_failed",
                    f"the answer of {self._host} to {self._tool_id!r} has nothing at {answer.pointer!r}",
                    code="answer_shape",
                    native_error_ref="http:answer_shape",
                )
            value = found[0]
        if answer.member:
            value = {answer.member: value}
        return Output(value)

    def _text_or_guess(self, body: bytes, content_type: ContentType, kind: str) -> Output:
        """Reads text; a body without a type is JSON if it parses as such, text if it is UTF-8, and bytes otherwise."""
        if not kind:
            value = _parse_json(body, "") if body.lstrip()[:1] in (b"{", b"[") else _NO_JSON
            if value is not _NO_JSON:
                return self._select_output(value)
            try:
                text = body.decode()
            except UnicodeDecodeError:
                return Output(stream=(body,))
        else:
            text = decode_text(body, content_type.charset)
        if not self._has_schema:
            return Output(text)
        # An output schema of AML describes an object: the text becomes a member, and people see the text itself.
        value = {self._answer.member or "text": text}
        return Output(value, ({"type": "text", "text": text},))


def decode_text(body: bytes, charset: str) -> str:
    """Decodes a body. A byte order mark overrides the charset; undecodable bytes are replaced."""
    if body.startswith(b"\xef\xbb\xbf"):
        return body[3:].decode(errors="replace")
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode(errors="replace")


# No None, which is what JSON's null becomes.
_NO_JSON = object()


def _parse_json(body: bytes, charset: str) -> Any:
    if charset not in ("", "utf-8", "utf8") or body[:1] in (b"\xef", b"\xff", b"\xfe"):
        body = decode_text(body, charset).encode(errors="replace")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NO_JSON


def _file_name(disposition: str) -> str:
    """Reads the suggested file name, without anything that could lead to another folder."""
    found = _FILE_NAME.search(disposition)
    if found is None:
        return ""
    name = unquote(found[1], errors="replace") if found[1] else (found[2] or found[3] or "")
    return _NO_NAME.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(". ")[:200]


def broken_answer(host: str, error: Exception) -> ExecutionFailed:
    """Builds the failure for an answer that is not valid HTTP, or was cut off."""
    return ExecutionFailed(
        "dependency_unavailable",
        f"{host} answered in a way that cannot be read: {error}",
        code="broken_answer",
        native_error_ref="http:broken",
    )


def answer_too_long(host: str, most: int) -> ExecutionFailed:
    """Builds the failure for an answer over the size limit."""
    return ExecutionFailed(
        "result_too_large",
        f"the answer of {host} is longer than {most:,} bytes; ask for less, or raise max_response_bytes of [rest]",
        native_error_ref="http:too_long",
    )
