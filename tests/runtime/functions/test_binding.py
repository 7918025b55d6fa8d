"""The tool a function makes of itself."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import pytest

from ferrule.errors import BindingError
from ferrule.model.canonical import digest_of_tool
from ferrule.runtime.functions import Binding, functions_in, tool
from ferrule.runtime.functions.docstring import read_docstring
from tests.runtime.functions import samples
from tests.runtime.functions.function_tools import make_tool
from tests.runtime.functions.samples import everything


def test_signature_and_docstring_make_a_tool() -> None:
    found = make_tool(everything)
    assert (found.tool_id, found.namespace, found.name) == ("shop.everything", "shop", "everything")
    assert found.description == "Take everything there is."
    assert (found.dialect, found.lifecycle, found.tool_kind) == ("python", "available", "function")
    assert msgspec.json.decode(found.payload)["function"] == "tests.runtime.functions.samples:everything"


def test_facts_nobody_stated_are_inferred_and_fail_closed() -> None:
    """AT-41 to AT-51: what a function does not say about itself proves nothing."""

    @tool
    def silent(a: int) -> int:
        """Say nothing."""
        return a

    @tool(read_only=True, destructive=False, open_world=False, concurrency_safe=True, idempotent=True)
    def stated(a: int) -> int:
        """Say everything."""
        return a

    facts = make_tool(silent).facts
    assert (facts.is_read_only, facts.is_concurrency_safe, facts.is_open_world) == (False, False, True)
    assert "is_destructive" in make_tool(silent).inferred_facts
    assert make_tool(stated).facts.is_read_only is True
    assert "is_destructive" not in make_tool(stated).inferred_facts
    assert msgspec.json.decode(make_tool(stated).payload)["idempotent"] is True


def test_what_is_stated_reaches_the_definition() -> None:
    @tool(
        name="refund-order",
        namespace="billing",
        title="Refund",
        description="Give money back.",
        version="1.2.0",
        tags=["money"],
        search_hint="return",
        approval_required=True,
        risk="critical",
        timeout_seconds=1.5,
        sensitive=("card",),
        lenient=False,
    )
    def refund(card: str = "4111") -> None:
        """Not this."""

    found = make_tool(refund)
    payload = msgspec.json.decode(found.payload)
    assert (found.tool_id, found.version, found.title) == ("billing.refund-order", "1.2.0", "Refund")
    assert (found.description, found.tags, found.search_hint) == ("Give money back.", ("money",), "return")
    assert found.approval_required is True
    assert payload["tool_interface"] == {"timeout_ms": 1500}
    assert payload["permission_profile"] == {"risk_level": "critical"}
    assert payload["input_contract"] == {"sensitive_fields": ["card"], "lenient": False}
    assert b"4111" not in msgspec.json.encode(found)  # a sensitive default stays in the source


def test_the_digest_is_the_same_every_time_and_follows_the_definition() -> None:
    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    before = digest_of_tool(make_tool(add))
    assert before == digest_of_tool(make_tool(add))
    add.__doc__ = "Add one."
    assert digest_of_tool(make_tool(add)) != before


def test_the_function_stays_a_function() -> None:
    @tool(read_only=True)
    def double(a: int) -> int:
        """Double."""
        return 2 * a

    assert double(4) == 8


def wordless(a: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (wordless, "write a docstring"),
    ],
)
def test_what_no_tool_can_have_is_refused_with_what_to_do(function: Any, told: str) -> None:
    with pytest.raises(BindingError, match=told):
        make_tool(Binding(function))


def test_slips_in_the_decorator_are_told() -> None:
    with pytest.raises(BindingError, match="no such parameter"):
        make_tool(tool(sensitive=("crad",))(wordy))
    with pytest.raises(BindingError, match="not a risk level"):
        tool(risk="enormous")(wordy)
    with pytest.raises(BindingError, match=r"sensitive=\('card',\)"):
        tool(sensitive="card")
    with pytest.raises(BindingError, match="leave out read_only"):
        tool("refund-order", read_only=True)(wordy)
    with pytest.raises(BindingError, match="has no name"):
        make_tool(Binding(lambda: None))


def wordy(card: str) -> None:
    """Take a card."""


class Shop:
    """Something with a state."""

    def __init__(self, stock: int) -> None:
        self.stock = stock

    def count(self, least: int) -> bool:
        """Tell whether there is enough."""
        return self.stock >= least


def test_methods_of_instances_are_bound_by_hand() -> None:
    (binding,) = functions_in([Binding(Shop(3).count)], namespace="shop")
    assert binding.tool is not None
    assert list(msgspec.json.decode(binding.tool.input_schema)["properties"]) == ["least"]
    with pytest.raises(BindingError, match=r"use Binding\(instance.method"):
        tool(Shop(3).count)


def test_partial_functions_are_tools_too() -> None:
    def area(width: int, height: int) -> int:
        """Tell the area."""
        return width * height

    binding = Binding(functools.partial(area, height=2))
    with pytest.raises(BindingError, match="has no name"):
        _ = binding.tool


def test_functions_are_collected_once_and_in_order() -> None:
    found = functions_in([samples, everything, [everything]])
    assert [binding.label for binding in found] == ["tests.runtime.functions.samples:everything"]
    assert found[0].tool is not None
    assert found[0].tool.namespace == "samples"
    with pytest.raises(BindingError, match="mark the function"):
        functions_in([len])


@pytest.mark.parametrize(
    "text",
    [
        "Do it.\n\nArgs:\n    a (int): The first\n        number.\n    b: The second.\n\nReturns:\n    x: nothing",
        "Do it.\n\nParameters\n----------\na : int\n    The first\n    number.\nb : int\n    The second.\n\nReturns\n-------\nx",
        "Do it.\n\n:param int a: The first\n    number.\n:param b: The second.\n:returns: nothing",
    ],
)
def test_parameters_are_described_in_three_styles(text: str) -> None:
    docs = read_docstring(text)
    assert docs.summary == "Do it."
    assert docs.parameters == {"a": "The first number.", "b": "The second."}


def test_a_docstring_without_a_blank_line_has_its_summary() -> None:
    assert read_docstring("Do it\nnow.\n:param a: x").summary == "Do it now."
    assert read_docstring(None) == ("", "", {})
