"""An operation as a tool to be: its facts, its transport, and whether it can be called already."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.drafts import Drafter, OperationDraft, build_namespace, encode_facts
from tests.definitions.openapi.operations import document_of, heading_of, messages

SERVER = [{"url": "https://pets.example.com/v1"}]


def draft_operation(operation: dict[str, Any] | None = None, **more: Any) -> OperationDraft:
    document = document_of(operation, **{"servers": SERVER, **more})
    drafting = Drafter(document)
    heading = heading_of(document)
    return drafting.draft(heading, drafting.choose_name(heading))


@pytest.mark.parametrize(
    ("method", "facts"),
    [
        ("get", {"is_read_only": True, "is_concurrency_safe": True}),
        ("delete", {"is_destructive": True}),
    ],
)
def test_the_method_tells_what_a_tool_does_to_the_world(method: str, facts: dict[str, bool]) -> None:
    draft = draft_operation(method=method)
    assert {name: getattr(draft.facts, name) for name in facts} == facts
    assert encode_facts(draft.facts) == facts
    assert "is_read_only" in draft.inferred_facts


def test_a_method_that_says_nothing_leaves_the_facts_as_nobody_states_them() -> None:
    assert encode_facts(draft_operation(method="post").facts) == {}


def test_the_transport_says_where_a_call_goes() -> None:
    draft = draft_operation({"operationId": "addPet"}, path="/pets/{id}")
    assert draft.transport == {
        "type": "rest-api",
        "base_url": "https://pets.example.com/v1",
        "endpoint": "POST /pets/{id}",
        "x-body": "none",
        "credentials": {"scheme": "none"},
    }
    assert draft.mapping == {
        "source": "openapi",
        "operation_id": "addPet",
        "method": "POST",
        "path": "/pets/{id}",
        "server_url": "https://pets.example.com/v1",
        "security_scheme_refs": [],
    }


def test_a_bare_slash_takes_the_end_of_the_address() -> None:
    transport = draft_operation(path="/").transport
    assert (transport["base_url"], transport["endpoint"]) == ("https://pets.example.com", "POST /v1/")


def test_a_tool_without_host_or_credentials_is_not_ready() -> None:
    assert draft_operation().is_ready
    assert not draft_operation(servers=[]).is_ready
    assert not draft_operation({"security": [{"gone": []}]}).is_ready


def test_no_two_operations_share_a_name_and_an_id_used_twice_is_told() -> None:
    same = {"operationId": "getPet"}
    document = document_of(paths={"/a": {"get": same}, "/b": {"get": same}})
    drafting = Drafter(document)
    assert [drafting.choose_name(heading) for heading in document.list_headings()] == ["get_pet", "get_pet_2"]
    assert messages(document) == ["'getPet' is the id of another operation too"]


@pytest.mark.parametrize(("title", "name"), [("The Pet Store API", "pet-store"), ("API", "api"), ("宠物", "api")])
def test_a_title_gives_the_namespace(title: str, name: str) -> None:
    assert build_namespace(document_of(info={"title": title, "version": "1"})) == name
