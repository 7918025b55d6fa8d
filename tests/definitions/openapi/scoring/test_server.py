"""The service that judges imported tools is a strict one: what does not obey the document is refused, with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.definitions.openapi.scoring.decoding import Wrong
from tests.definitions.openapi.scoring.documents import documents
from tests.definitions.openapi.scoring.server import SECRET, FakeService
from tests.runtime.executors.rest.server import Seen

VALUES = {document.name: document.value for document in documents() if not document.is_broken}
KEY = {"x-api-key": SECRET}
TYPE = {"content-type": "application/json"}


def check_request(name: str, method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b"") -> str:
    return FakeService(VALUES[name]).checked(Seen(method, target, headers or {}, body)).label


GOOD: list[tuple[str, str, str, dict[str, str], bytes]] = [
    ("shop.yaml", "GET", "/v1/products?limit=5&in_stock=true", KEY, b""),
    ("shop.yaml", "PATCH", "/v1/products/7", KEY | TYPE, b'{"name":"x"}'),
    ("search-styles.yaml", "GET", "/path/a%2Fb/x,y/a,1,b,z/c=d", {}, b""),
    ("search-styles.yaml", "GET", "/label/.5/.1,2/.1.2", {}, b""),
    ("search-styles.yaml", "GET", "/matrix/;one=a/;list=a,b/;opened=a;opened=b/;r=1;g=2", {}, b""),
    (
        "search-styles.yaml",
        "GET",
        "/query?exploded=a&exploded=b&comma=1,2&space=a%20b&pipe=a%7Cb&deep%5Bfrom%5D=3&colour=red&closed=width,3&json=%22t%22",
        {},
        b"",
    ),
    ("search-styles.yaml", "GET", "/cookies", {"cookie": "session=abc; debug=1; lists=a,b"}, b""),
    (
        "search-styles.yaml",
        "GET",
        "/headers",
        {"x-one": "5", "x-list": "1, 2", "x-object": "a,1", "x-opened": "a=1"},
        b"",
    ),
    ("maps.yaml", "GET", f"/maps/api/tiles/1/2/3.png?key={SECRET}", {}, b""),
    ("cookie-auth.yaml", "GET", "/app/me", {"cookie": f"SESSIONID={SECRET}"}, b""),
    (
        "payments.yaml",
        "POST",
        "/v1/charges",
        {"authorization": f"Bearer {SECRET}", "content-type": "application/x-www-form-urlencoded"},
        b"amount=50&currency=eur&metadata%5Bk%5D=v&expand=a&expand=b",
    ),
]


@pytest.mark.parametrize(("name", "method", "target", "headers", "body"), GOOD)
def test_what_obeys_the_document_is_answered(
    name: str, method: str, target: str, headers: dict[str, str], body: bytes
) -> None:
    assert check_request(name, method, target, headers, body).startswith(method)


WRONG: list[tuple[str, str, str, str, dict[str, str], bytes]] = [
    ("none of", "shop.yaml", "GET", "/v1/products", {}, b""),
    ("none of", "shop.yaml", "GET", "/v1/products", {"x-api-key": "other"}, b""),
    ("no such operation", "shop.yaml", "GET", "/products", KEY, b""),
    ("no such operation", "shop.yaml", "PUT", "/v1/products", KEY, b""),
    ("limit", "shop.yaml", "GET", "/v1/products?limit=0", KEY, b""),
    ("limit", "shop.yaml", "GET", "/v1/products?limit=many", KEY, b""),
    ("times", "shop.yaml", "GET", "/v1/products?limit=1&limit=2", KEY, b""),
    ("nobody described", "shop.yaml", "GET", "/v1/products?colour=red", KEY, b""),
    ("productId", "shop.yaml", "GET", "/v1/products/seven", KEY, b""),
    ("no body", "shop.yaml", "PATCH", "/v1/products/7", KEY, b""),
    ("nobody described a body", "shop.yaml", "DELETE", "/v1/products/7", KEY | TYPE, b"{}"),
    ("non-empty", "shop.yaml", "PATCH", "/v1/products/7", KEY | TYPE, b"{}"),
    ("not one of", "shop.yaml", "PATCH", "/v1/products/7", KEY | {"content-type": "text/plain"}, b"{}"),
    ("no JSON", "shop.yaml", "PATCH", "/v1/products/7", KEY | TYPE, b"{"),
    ("begin", "search-styles.yaml", "GET", "/label/5/.1/.1", {}, b""),
    ("begin", "search-styles.yaml", "GET", "/matrix/;two=a/;list=a/;opened=a/;r=1", {}, b""),
    ("no pairs", "search-styles.yaml", "GET", "/path/a/b/a,1,b/c=d", {}, b""),
    ("comma", "search-styles.yaml", "GET", "/query?comma=1&comma=2", {}, b""),
    ("no JSON", "search-styles.yaml", "GET", "/query?json=t", {}, b""),
    ("no session", "search-styles.yaml", "GET", "/cookies", {}, b""),
    ("debug", "search-styles.yaml", "GET", "/cookies", {"cookie": "session=a; debug=7"}, b""),
    ("x-one", "search-styles.yaml", "GET", "/headers", {}, b""),
    ("currency", "payments.yaml", "POST", "/v1/charges", {
        "authorization": f"Bearer {SECRET}", "content-type": "application/x-www-form-urlencoded",
    }, b"amount=50"),
    ("False schema", "calendar.yaml", "POST", "/calendar/v3/calendars/c/events", {"authorization": f"Bearer {SECRET}", **TYPE},
     b'{"id":"read only"}'),
    ("petType", "pets.yaml", "POST", "/api/v3/pets", TYPE, b'{"petType":"fish","name":"x"}'),
]  # fmt: skip


@pytest.mark.parametrize(("word", "name", "method", "target", "headers", "body"), WRONG)
def test_what_does_not_is_refused(
    word: str, name: str, method: str, target: str, headers: dict[str, str], body: bytes
) -> None:
    with pytest.raises(Wrong, match=f"(?i){word}"):
        check_request(name, method, target, headers, body)


def test_parts_are_what_the_document_says() -> None:
    def sent(*parts: tuple[str, str, str]) -> str:
        lines = "".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n{text}\r\n' for name, extra, text in parts
        )
        heads = {"content-type": "multipart/form-data; boundary=b"}
        return check_request("multipart.yaml", "POST", "/albums/1/photos", heads, f"{lines}--b--\r\n".encode())

    photo = ("photos", '; filename="a.png"', "Content-Type: image/png\r\n\r\nx")
    assert sent(photo, ("rating", "", "\r\n5"), ("meta", "", 'Content-Type: application/json\r\n\r\n{"place":"x"}'))
    for wrong in (
        [("rating", "", "\r\n5")],
        [("photos", '; filename="a.gif"', "Content-Type: image/gif\r\n\r\nx")],
        [photo, ("rating", "", "\r\n9")],
        [photo, ("licence", "", "Content-Type: text/plain\r\n\r\nx")],
        [photo, ("meta", "", "Content-Type: text/plain\r\n\r\n{}")],
    ):
        with pytest.raises(Wrong):
            sent(*wrong)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_every_operation_has_an_answer_that_fits_its_own_schema(name: str) -> None:
    service = FakeService(VALUES[name])
    for operation in service.reading.operations[:40]:
        head, _, body = service._sample(operation, operation.method).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 2")
        if b"json" in head and b"jsonl" not in head:
            value: Any = json.loads(body)
            _, response = service._response(operation)
            content = response.get("content") or {}
            schema = (
                next(iter(content.values()))["schema"] if content and "schema" in next(iter(content.values())) else {}
            )
            assert service.reading.fault(value, schema, is_answer=True) is None
