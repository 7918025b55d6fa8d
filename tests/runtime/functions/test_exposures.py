"""`@resource` and `@prompt`: what they make, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ferrule
from ferrule.errors import BindingError
from ferrule.model.tool import CompletionExposure, PromptExposure, ResourceExposure, Tool
from ferrule.runtime.functions import functions_in
from ferrule.runtime.functions.exposures import to_contents, to_messages
from ferrule.runtime.functions.function_tools import join_functions
from ferrule.runtime.surface.catalogs import EmptyCatalog


def find(value: str) -> list[str]:
    return [value]


@ferrule.resource("docs://{name}{?lang}", mime_type="text/plain", complete={"name": find, "lang": ["en", "de"]})
def page(name: str, lang: str = "en") -> str:
    """A page."""
    return name


@ferrule.prompt("greet", title="Greet")
def greeting(whom: str) -> str:
    """Greets."""
    return f"Hello {whom}"


def make_exposed(source: Any) -> list[Tool]:
    return [binding.tool for binding in functions_in(source, "shop") if binding.tool is not None]


def test_a_resource_is_a_tool_that_only_reads_and_has_an_address() -> None:
    tool, completer = make_exposed(page)
    assert (tool.tool_id, tool.facts.is_read_only, tool.output_schema) == ("shop.page", True, None)
    assert tool.exposed_as == ResourceExposure(
        uri="docs://{name}{?lang}", mime_type="text/plain", is_template=True, completions={"lang": ("en", "de")}
    )
    assert completer.exposed_as == CompletionExposure(of="shop.page", argument="name")
    assert "is_read_only" not in tool.inferred_facts


def test_a_prompt_is_one_too_and_the_function_stays_what_it_is() -> None:
    (tool,) = make_exposed(greeting)
    assert (tool.name, tool.title, tool.exposed_as) == ("greet", "Greet", PromptExposure())
    assert greeting("Ada") == "Hello Ada"


def _resource(uri: str, function: Callable[..., Any], **said: Any) -> list[Tool]:
    return make_exposed(ferrule.resource(uri, **said)(function))


def _none() -> str:
    """Nothing."""
    return ""


def _one(name: str) -> str:
    """One."""
    return name


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: _resource("docs", lambda: ""), "cannot be used"),
        (lambda: _resource("docs://{a}", _none), "none of its parameters"),
        (lambda: _resource("docs://a", _one), "says nothing of its parameter 'name'"),
        (lambda: _resource("docs://a{?name}", _one), "needs a default"),
        (lambda: _resource("docs://{name}", _one, complete={"other": ["x"]}), "completes 'other'"),
        (lambda: _resource("docs://{name}", _one, complete={"name": lambda: []}), "what was typed"),
        (lambda: _resource("docs://a", _none, icons=[{"src": "javascript:x"}]), "an icon has an address"),
        (lambda: _resource("docs://a", _none, priority=2), "from 0 to 1"),
        (lambda: _resource("docs://a", _none, audience="user"), "audience"),
        (lambda: _resource("docs://a", _none, read_only=False), "not an option of a resource"),
        (lambda: make_exposed(ferrule.prompt(description="")(lambda: "")), "no name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_are_told(make: Callable[[], Any], says: str) -> None:
    """MCP-291 among them."""
    with pytest.raises(BindingError, match=says):
        make()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", [{"mimeType": "text/plain", "text": "a"}]),
        (b"a", [{"mimeType": "application/octet-stream", "blob": "YQ=="}]),
        ({"a": 1}, [{"mimeType": "application/json", "text": '{"a":1}'}]),
        (["a", "b"], [{"mimeType": "application/json", "text": '["a","b"]'}]),
        ({"text": "x", "mimeType": "a/b"}, [{"text": "x", "mimeType": "a/b"}]),
        ([b"a", {"text": "x"}], [{"mimeType": "application/octet-stream", "blob": "YQ=="},
                                 {"text": "x", "mimeType": "text/plain"}]),
        (None, []),
        ([], []),
    ],
)  # fmt: skip
def test_contents(value: Any, expected: list[Any]) -> None:
    assert to_contents(value) == {"contents": expected}


def test_messages() -> None:
    text = {"type": "text", "text": "a"}
    assert to_messages("a") == {"messages": [{"role": "user", "content": text}]}
    assert to_messages([text, {"role": "assistant", "content": ["a", "a"]}])["messages"] == [
        {"role": "user", "content": text},
        {"role": "assistant", "content": text},
        {"role": "assistant", "content": text},
    ]
    for wrong in (3, None, [{"role": "system", "content": "x"}], [{"role": "user"}], {"a": 1}):
        with pytest.raises(ValueError):
            to_messages(wrong)


def test_two_resources_at_one_address_are_refused() -> None:
    first = ferrule.resource("docs://a", name="first")(_none)

    @ferrule.resource("docs://a")
    def second() -> str:
        """The same address."""
        return ""

    with pytest.raises(BindingError, match="have one address"):
        join_functions(EmptyCatalog(), [first, second], "shop")
