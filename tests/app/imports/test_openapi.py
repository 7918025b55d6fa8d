"""OpenAPI documents as AML files: chosen, named, checked clean, the same every time."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.app.imports.openapi import OperationChoice, import_document
from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.yaml_text import append_mapping, join_front_matter
from ferrule.infra.network.urls import parse_url
from ferrule.model.diagnostic import Severity
from ferrule.model.document import Source
from ferrule.model.native_definition import native_refs
from ferrule.runtime.executors.rest.mapping import plan_of
from ferrule.runtime.executors.rest.settings import RestTransport
from ferrule.workspace.workspace import Workspace
from tests.definitions.openapi.documents import ALL, NEWER, SHOP, SWAGGER
from tests.definitions.openapi.importing import definitions, import_one, import_value


@pytest.mark.parametrize("document", ALL, ids=lambda document: document["info"]["title"])
def test_what_is_written_checks_clean(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    made = import_value(document, OperationChoice(date="2026-01-01"))
    for name, text in made.files.items():
        (tmp_path / "tools" / name).write_text(text)
    report = Workspace.open(tmp_path).check([tmp_path])
    assert [each.message for each in report.diagnostics if each.severity is not Severity.INFO] == []
    assert report.summary.tools == len(made.files) > 0


@pytest.mark.parametrize("document", ALL, ids=lambda document: document["info"]["title"])
def test_the_executor_takes_every_tool(document: dict[str, Any]) -> None:
    for made in definitions(document).values():
        transport = msgspec.convert(made["transport"], RestTransport)
        plan_of(transport, parse_url(transport.base_url).path, made["interface"]["input"], {})


def test_a_tool_says_where_it_comes_from_and_what_was_inferred(tmp_path: Path) -> None:
    """AT-27, AT-51."""
    (tmp_path / "tools").mkdir()
    for name, text in import_value(SHOP).files.items():
        (tmp_path / "tools" / name).write_text(text)
    compiled = Workspace.open(tmp_path).compile([tmp_path])
    tools = {tool.tool_id: tool for file in compiled for piece in file.compiled for tool in piece.tools}
    listing, deletion = tools["list_pets"], tools["delete_pet"]
    assert (listing.tool_kind, deletion.tool_kind) == ("openapi_operation", "openapi_operation")
    assert listing.facts.is_read_only is True and "is_read_only" in listing.inferred_facts
    assert deletion.facts.is_destructive is True and "is_destructive" in deletion.inferred_facts
    assert native_refs(deletion) == () or native_refs(deletion)[0].get("method") == "DELETE"
    assert definitions(SHOP)["list_pets"]["x-ferrule"]["external_mappings"] == [
        {
            "source": "openapi",
            "operation_id": "listPets",
            "method": "GET",
            "path": "/pets",
            "server_url": "https://eu.shop.example.com/v2",
            "security_scheme_refs": ["key"],
            "pagination": {
                "style": "cursor",
                "argument": "cursor",
                "size_argument": "limit",
                "next": "/next_cursor",
                "inferred": True,
            },
        }
    ]


def test_the_same_document_gives_the_same_texts() -> None:
    assert import_value(SHOP).files == import_value(copy.deepcopy(SHOP)).files


def test_names_come_from_ids_or_from_methods_and_paths() -> None:
    assert sorted(definitions(SHOP)) == [
        "create_pet",
        "create_pet_photo",
        "delete_pet",
        "get_file",
        "get_pet",
        "list_pet_photos",
        "list_pets",
        "pay",
        "pay_2",
        "replace_file",
        "replace_pet",
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (OperationChoice(tags=("Pets",)), {"list_pets", "get_pet"}),
        (OperationChoice(paths=("/pets/*",)), {"get_pet", "replace_pet", "delete_pet"}),
        (OperationChoice(paths=("/pets/**",), methods=("get",)), {"get_pet", "list_pet_photos"}),
        (OperationChoice(operations=("createPet", "get_pet")), {"create_pet", "get_pet"}),
        (OperationChoice(except_paths=("/**",)), set()),
        (OperationChoice(methods=("DELETE",), with_deprecated=False), set()),
        (OperationChoice(tags=("pets",), except_operations=("list*",)), {"get_pet"}),
    ],
)
def test_operations_are_chosen(choice: OperationChoice, expected: set[str]) -> None:
    assert set(definitions(SHOP, choice)) == expected


def test_a_choice_that_fits_nothing_is_told() -> None:
    made = import_value(SHOP, OperationChoice(tags=("pest",)))
    assert made.files == {} and any("'pest'" in each.message for each in made.findings)


def test_the_score_counts() -> None:
    score = import_value(NEWER).score
    assert (score.operations, score.chosen, score.tools, score.left_out) == (3, 3, 1, 2)
    assert score.errors == 2


def test_servers_are_chosen_and_filled_in() -> None:
    def address(choice: OperationChoice) -> str:
        return str(definitions(SHOP, choice)["get_pet"]["transport"]["base_url"])

    assert address(OperationChoice()) == "https://eu.shop.example.com/v2"
    assert address(OperationChoice(variables={"region": "us"})) == "https://us.shop.example.com/v2"
    assert (
        address(OperationChoice(server="2"))
        == address(OperationChoice(server="Test"))
        == "https://test.shop.example.com"
    )
    assert address(OperationChoice(server="https://here.example.com/")) == "https://here.example.com"


def test_an_unknown_host_makes_drafts() -> None:
    made = definitions(NEWER)["get_search"]
    assert made["status"] == "draft" and made["transport"]["base_url"] == "https://server.invalid/v3"
    known = import_document(json.dumps(NEWER).encode(), "https://example.com/api/newer.json")
    assert "https://example.com/v3" in known.files["get_search.tool.md"]


def test_swagger_is_read_like_the_others() -> None:
    made = definitions(SWAGGER)
    listing = made["list_orders"]["transport"]
    assert listing["base_url"] == "https://old.example.com/api"
    assert listing["x-mapping"] == {"ids": {"in": "query", "style": "comma"}, "cols": {"in": "query", "style": "pipe"}}
    assert listing["credentials"]["x-encode"] == "basic"
    assert made["upload"]["transport"]["x-mapping"]["file"] == {"in": "file"}
    assert made["list_orders"]["transport"]["x-response"] == {"as": "items"}


def test_credentials_name_variables() -> None:
    made = definitions(SHOP)
    assert made["list_pets"]["transport"]["credentials"] == {
        "scheme": "api-key", "header": "api_key", "x-in": "query", "source": "env", "name": "PET_SHOP_KEY",
    }  # fmt: skip
    assert made["create_pet"]["transport"]["credentials"]["x-token-url"] == "https://login.example.com/token"
    both = made["delete_pet"]["transport"]["credentials"]
    assert [both["x-encode"], both["x-and"][0]["x-in"]] == ["basic", "query"]


def test_what_is_wrong_is_told_with_its_line_and_harms_nothing_else() -> None:
    damaged = copy.deepcopy(SHOP)
    damaged["paths"]["/pets"]["get"]["parameters"][0] = {"$ref": "#/components/parameters/none"}
    made = import_value(damaged)
    [problem] = [each for each in made.diagnostics if each.rule == "OAS-2"]
    text = json.dumps(damaged, indent=1).splitlines()
    assert "parameters/none" in text[problem.line - 1]
    assert set(definitions(damaged)) == set(definitions(SHOP)) - {"list_pets"}


def test_errors_say_what_to_do() -> None:
    codes = definitions(SHOP)["list_pets"]["error_codes"]
    assert codes == {
        "429": {"meaning": "Too many calls.", "agent_action": "Wait before calling again, as long as the answer says."}
    }


@pytest.mark.parametrize(
    ("summary", "description", "expected"),
    [
        ("", "", "Do it. Calls POST /x of T."),
        ("Does it", "", "Does it. Calls POST /x of T."),
        ("Does it", "Does it. And more.", "Does it. And more."),
        ("Sum.", "One. Two. Three. Four. Five. Six.", "Sum. One. Two. Three. Four."),
        ("", "# Title\nUse *it* <b>now</b>, e.g. here", "Title Use *it* now , e.g. here. Calls POST /x of T."),
    ],
)
def test_descriptions_have_two_to_five_sentences(summary: str, description: str, expected: str) -> None:
    made = import_one({"operationId": "doIt", "summary": summary, "description": description})
    assert made["meta"]["description"] == expected


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.sampled_from(
        [
            "yes",
            "~",
            "1.2",
            "2026-01-01",
            "- a",
            "a: b",
            "a #b",
            "---",
            "&a",
            "a\nb",
            "a\n\n b ",
            "'\"",
            "\u2028",
            "x" * 1000,
        ]
    )
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda key: key != "<<")
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_as_it_was(value: dict[str, Any]) -> None:
    lines: list[str] = []
    append_mapping(value, 0, lines, {})
    [back] = read(Source("t.md", join_front_matter(lines, "").encode()))
    assert back.issues == ()
    assert back.value == value
