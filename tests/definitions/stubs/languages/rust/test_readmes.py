"""The README of a Rust project says how it is built and called, and texts of definitions stay texts in it."""

from __future__ import annotations

import msgspec

from ferrule.definitions.stubs.languages.rust.readmes import client_readme, readme
from tests.definitions.stubs.languages.plans import PROJECT, plan_of, tool_plan


def test_it_begins_with_what_the_agent_is_called_and_for() -> None:
    project = msgspec.structs.replace(PROJECT, description="Sells <b>books</b>.\n```")
    text = readme(plan_of(project=project), "clerk")
    assert text.startswith("# clerk\n\nSells \\<b\\>books\\</b\\>.\n")
    assert text.count("```") % 2 == 0


def test_a_project_without_a_description_goes_on_at_once() -> None:
    assert readme(plan_of(), "clerk").startswith("# clerk\n\nAn MCP server")


def test_the_program_is_named_by_its_package() -> None:
    text = readme(plan_of(), "book-clerk")
    assert text.count("target/release/book-clerk") == 2


def test_a_client_shows_a_call_of_its_first_tool() -> None:
    text = client_readme(plan_of(tool_plan(), kind="client"), "book-clerk")
    assert "use book_clerk::client::get_weather::Input;" in text
    assert "client.get_weather(input, &CallOptions::new())?" in text
    assert "client::tool_name::Input" in client_readme(plan_of(kind="client"), "book-clerk")
