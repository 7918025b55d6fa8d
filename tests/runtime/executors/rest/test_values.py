"""Everything that an OpenAPI operation can say about its parameters: styles, cookies, reserved characters, media types."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.executors.rest.mapping import plan_of
from ferrule.runtime.executors.rest.settings import ParameterPlace, RestTransport
from tests.runtime.executors.rest.server import Server, json_answer
from tests.runtime.executors.rest.tools import ANY, sent, told

OK = json_answer({"ok": True})
LIST = ["a", "b,c", 3]
OBJECT = {"role": "x=y", "n": 1}


def refused(endpoint: str, arguments: dict[str, Any], **transport: Any) -> str:
    """What is said about one call, of which the server hears nothing."""
    kept: list[str] = []

    async def story(call: Any, server: Server) -> None:
        result = await call(arguments)
        assert result.error.error_class == "invalid_arguments"
        assert server.seen == []
        kept.append(result.error.message)

    told(story, OK, endpoint, takes=dict.fromkeys(arguments, ANY), **transport)
    return kept[0]


@pytest.mark.parametrize(
    ("style", "scalar", "listed", "members"),
    [
        ("simple", "5", "a,b%2Cc,3", "role,x%3Dy,n,1"),
        ("simple-exploded", "5", "a,b%2Cc,3", "role=x%3Dy,n=1"),
        ("label", ".5", ".a,b%2Cc,3", ".role,x%3Dy,n,1"),
        ("label-exploded", ".5", ".a.b%2Cc.3", ".role=x%3Dy.n=1"),
        ("matrix", ";k=5", ";k=a,b%2Cc,3", ";k=role,x%3Dy,n,1"),
        ("matrix-exploded", ";k=5", ";k=a;k=b%2Cc;k=3", ";role=x%3Dy;n=1"),
    ],
)
def test_a_path_has_the_styles_of_rfc_6570(style: str, scalar: str, listed: str, members: str) -> None:
    mapping = {"v": {"in": "path", "name": "k", "style": style}}
    for value, written in ((5, scalar), (LIST, listed), (OBJECT, members)):
        assert sent("GET /x/{k}/y", {"v": value}, x_mapping=mapping).seen[0].target == f"/x/{written}/y"
    assert "empty" in refused("GET /x/{k}/y", {"v": []}, x_mapping=mapping)


@pytest.mark.parametrize(
    ("style", "listed", "members"),
    [
        ("form", "v=a,b%2Cc,3", "v=role,x%3Dy,n,1"),
        ("form-exploded", "v=a&v=b%2Cc&v=3", "role=x%3Dy&n=1"),
        ("deep", "v=a&v=b%2Cc&v=3", "v%5Brole%5D=x%3Dy&v%5Bn%5D=1"),
    ],
)
def test_objects_in_a_query(style: str, listed: str, members: str) -> None:
    mapping = {"v": {"in": "query", "style": style}}
    assert sent("GET /x", {"v": LIST}, x_mapping=mapping).seen[0].target == f"/x?{listed}"
    assert sent("GET /x", {"v": OBJECT}, x_mapping=mapping).seen[0].target == f"/x?{members}"
    assert sent("GET /x", {"v": {}}, x_mapping=mapping).seen[0].target == "/x"


def test_members_that_become_parameters_take_no_name_of_another() -> None:
    async def story(call: Any, server: Server) -> None:
        for arguments in (
            {"v": {"tenant": "evil"}},
            {"v": {"PAGE": 2}},
            {"v": {"fmt": 1}},
            {"v": {"key": 1}},
            {"v": {"a": 1}, "w": {"a": 2}},
            {"v": {"other": 1}, "other": 2},
        ):
            result = await call(arguments)
            assert result.error is not None and result.error.error_class == "invalid_arguments", arguments
        assert server.seen == []
        await call({"v": {"a": 1}, "w": {"b": 2}, "page": 3})
        assert server.seen[0].target == "/x?tenant=acme&fmt=full&a=1&b=2&PAGE=3&key=k"

    exploded = {"in": "query", "style": "form-exploded"}
    told(
        story, OK, "GET /x?tenant=acme", takes=dict.fromkeys(("v", "w", "page"), ANY), x_query={"fmt": "full"},
        x_mapping={"v": exploded, "w": exploded, "page": {"in": "query", "name": "PAGE"}},
        credentials={"scheme": "api-key", "header": "key", "x-in": "query", "source": "env", "name": "KEY"},
        environment={"KEY": "k"},
    )  # fmt: skip


def test_objects_and_json_in_headers() -> None:
    mapping = {
        "plain": {"in": "header", "name": "X-Plain", "style": "simple"},
        "exploded": {"in": "header", "name": "X-Exploded", "style": "simple-exploded"},
        "json": {"in": "header", "name": "X-Json", "content_type": "application/json"},
    }
    value = {"a": "é☃🔑", "b": ["x"]}
    head = sent("GET /x", {"plain": OBJECT, "exploded": OBJECT, "json": value}, x_mapping=mapping).seen[0].headers
    assert (head["x-plain"], head["x-exploded"]) == ("role,x=y,n,1", "role=x=y,n=1")
    assert json.loads(head["x-json"]) == value
    assert "x-plain" not in sent("GET /x", {"plain": {}}, x_mapping={"plain": mapping["plain"]}).seen[0].headers
    for wrong in ({"a\r\nb": 1}, {"a": "b\nc"}):
        assert refused("GET /x", {"plain": wrong}, x_mapping={"plain": mapping["plain"]})


def test_cookies_of_arguments_stand_in_one_header_with_the_fixed_one() -> None:
    mapping = {
        "sid": {"in": "cookie"},
        "many": {"in": "cookie", "name": "m", "style": "form"},
        "each": {"in": "cookie", "name": "e"},
        "prefs": {"in": "cookie", "style": "form-exploded"},
        "raw": {"in": "cookie", "style": "cookie"},
        "json": {"in": "cookie", "content_type": "application/json"},
    }
    arguments = {
        "sid": "a;b c=1", "many": ["x", "y,z"], "each": [1, 2], "prefs": {"lang": "de"}, "raw": "a=b/c+d", "json": "t",
    }  # fmt: skip
    seen = sent("GET /x", arguments, x_mapping=mapping, x_headers={"Cookie": "v=1"}).seen[0]
    assert seen.target == "/x"
    fixed, *cookies = seen.headers["cookie"].split("; ")
    assert fixed == "v=1"
    expected = ["sid=a%3Bb%20c=1", "m=x,y%2Cz", "e=1", "e=2", "lang=de", "raw=a=b/c+d", "json=%22t%22"]
    assert sorted(cookies) == sorted(expected)
    assert "cookie" not in sent("GET /x", {}, x_mapping={"sid": {"in": "cookie"}}).seen[0].headers
    assert (
        sent("GET /x", {}, x_mapping={"sid": {"in": "cookie"}}, x_headers={"Cookie": "v=1"}).seen[0].headers["cookie"]
        == "v=1"
    )
    for value in ("a b", "a;b", 'a"b', "a\r\nb", "é"):
        assert refused("GET /x", {"raw": value}, x_mapping={"raw": mapping["raw"]})


def test_json_text_is_any_value() -> None:
    mapping = {name: {"in": "query", "content_type": "application/json"} for name in ("a", "b", "c", "d")}
    seen = sent("GET /x", {"a": "t", "b": {"k": [1]}, "c": True, "d": None}, x_mapping=mapping).seen[0]
    assert seen.query == [("a", '"t"'), ("b", '{"k":[1]}'), ("c", "true"), ("d", "null")]


def test_reserved_characters_are_kept_where_nothing_ends_with_them() -> None:
    value = "a/b?c=d&e#f+g%2Fh i:[j]@k;l,m"
    seen = sent("GET /x", {"q": value}, x_mapping={"q": {"in": "query", "reserved": True}}).seen[0]
    assert seen.target == "/x?q=a/b?c=d%26e%23f%2Bg%252Fh%20i:%5Bj%5D@k;l,m"
    assert seen.query == [("q", value)]
    seen = sent("POST /x", {"q": value}, x_body="form", x_mapping={"q": {"in": "body", "reserved": True}}).seen[0]
    assert seen.body == b"q=a/b?c=d%26e%23f%2Bg%252Fh+i:%5Bj%5D@k;l,m"
    path = {"p": {"in": "path", "reserved": True}}
    assert (
        sent("GET /files/{p}/raw", {"p": "docs/a b?.md"}, x_mapping=path).seen[0].target
        == "/files/docs/a%20b%3F.md/raw"
    )


@pytest.mark.parametrize(
    "value", ["..", "../x", "a/../../b", "a/./b", "/etc", "a//b", "a/", "", "..;x/y", [".."], {"..": "/../x"}]
)
def test_a_path_with_slashes_leads_nowhere_else(value: Any) -> None:
    for style in ("simple", "simple-exploded", "label"):
        mapping = {"p": {"in": "path", "reserved": True, "style": style}}
        plan = plan_of(
            RestTransport(base_url="https://e", endpoint="GET /f/{p}/r", mapping={"p": _place(**mapping["p"])}),
            "",
            {},
            {},
        )
        try:
            path = plan.request({"p": value}).path
        except ExecutionFailed:
            continue
        assert not {"", ".", ".."} & {unquote(part) for part in path.split("/")[1:]}, path


def _place(**written: Any) -> ParameterPlace:
    return ParameterPlace(place=written.pop("in"), **written)


VALUES = st.one_of(
    st.text(max_size=8),
    st.lists(st.text("a./;%\\?#é", max_size=6), max_size=3),
    st.dictionaries(st.text("a./;%", max_size=4), st.text("a./;%?#", max_size=6), max_size=3),
)
STYLES = st.sampled_from(["simple", "simple-exploded", "label", "label-exploded", "matrix", "matrix-exploded"])


@hypothesis_settings(max_examples=300, deadline=None)
@given(value=VALUES, style=STYLES, is_reserved=st.booleans())
def test_no_value_of_any_style_leads_to_another_path(value: Any, style: Any, is_reserved: bool) -> None:
    place = ParameterPlace(place="path", style=style, reserved=is_reserved)
    plan = plan_of(RestTransport(base_url="https://e", endpoint="GET /f/{p}/r", mapping={"p": place}), "", {}, {})
    try:
        path = plan.request({"p": value}).path
    except ExecutionFailed as failed:
        assert failed.error_class == "invalid_arguments"
        return
    parts = path.split("/")
    assert (parts[1], parts[-1]) == ("f", "r")
    assert "?" not in path and "#" not in path and "\\" not in path
    assert is_reserved or len(parts) == 4
    for part in parts[2:-1]:
        assert unquote(part).partition(";")[0] not in (".", "..")
        assert part


KEY = {"scheme": "api-key", "source": "env", "name": "KEY"}
WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("GET /x", "not for", {"x_mapping": {"a": {"in": "query", "style": "label"}}}),
    ("GET /x", "not for", {"x_mapping": {"a": {"in": "cookie", "style": "deep"}}}),
    ("GET /x/{a}", "not for", {"x_mapping": {"a": {"in": "path", "style": "cookie"}}}),
    ("GET /x", "not for", {"x_mapping": {"a": {"in": "header", "name": "X-A", "style": "matrix"}}}),
    ("GET /x", "reserved", {"x_mapping": {"a": {"in": "header", "name": "X-A", "reserved": True}}}),
    ("GET /x", "reserved", {"x_mapping": {"a": {"in": "cookie", "reserved": True}}}),
    ("POST /x", "reserved", {"x_mapping": {"a": {"in": "body", "reserved": True}}}),
    ("GET /x", "application/json", {"x_mapping": {"a": {"in": "query", "content_type": "application/xml"}}}),
    ("POST /x", "part of a form", {"x_mapping": {"a": {"in": "body", "content_type": "application/xml"}}}),
    ("POST /x", "media type", {"x_body": "multipart", "x_mapping": {"a": {"in": "body", "content_type": "a/b\r\nc"}}}),
    ("GET /x", "name of a cookie", {"x_mapping": {"a": {"in": "cookie", "name": "a b"}}}),
    ("GET /x", "style", {"x_mapping": {"a": {"in": "query", "style": "nested"}}}),
    ("GET /x", "reserved", {"x_mapping": {"a": {"in": "query", "reserved": "yes"}}}),
    ("GET /x", "credentials", {"credentials": {**KEY, "header": "a", "x-in": "query"}}),
    ("GET /x?k=1", "credentials", {"credentials": {**KEY, "header": "k", "x-in": "query"}}),
    ("GET /x", "credentials", {
        "credentials": {**KEY, "header": "k", "x-in": "cookie"}, "x_mapping": {"a": {"in": "cookie", "name": "k"}},
    }),
]  # fmt: skip


@pytest.mark.parametrize(("endpoint", "word", "transport"), WRONG)
def test_what_cannot_be_meant_is_told_to_the_author(endpoint: str, word: str, transport: dict[str, Any]) -> None:
    async def story(call: Any, server: Server) -> None:
        result = await call({"a": "1"})
        assert result.error.error_class == "setup_required"
        assert word in result.error.message
        assert server.seen == []

    told(story, OK, endpoint, takes={"a": ANY, "b": ANY}, environment={"KEY": "k"}, **transport)
