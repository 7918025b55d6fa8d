"""Functions bound to definitions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from ferrule.errors import BindingError
from ferrule.model.tool import Tool, raw
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import functions_in, tool
from tests.runtime.pipeline.arguments.contracts import fields

TEXT: dict[str, Any] = {"type": "string"}
REFUND = fields("order-id", "amount", **{"order-id": TEXT, "amount": {"type": "integer"}, "class": TEXT})


def definition(schema: Any = REFUND, **changes: Any) -> Tool:
    tool = Tool(
        tool_id="refund-order",
        namespace="shop",
        name="refund",
        description="Refund an order.",
        lifecycle="available",
        tool_kind="native_tool",
        dialect="aml",
        version="2.0.1",
        input_schema=raw(schema),
    )
    return msgspec.structs.replace(tool, **changes)


def executor(*functions: Any) -> FunctionExecutor:
    return FunctionExecutor(functions_in(functions))


@pytest.mark.parametrize("name", ["refund-order", "refund", "shop.refund", "refund-order@2.0.1"])
def test_a_definition_is_found_by_id_name_or_both(name: str) -> None:
    @tool(name)
    def refund(order_id: str, amount: int, class_: str = "") -> None: ...

    bound = executor(refund)
    assert bound.bound_names == (name,)
    assert bound.tools == ()
    assert bound.can_run(definition())
    assert not bound.can_run(definition(tool_id="other", name="other"))
    bound.check([definition()])


def test_a_version_named_wins_over_one_that_is_not() -> None:
    @tool("refund-order@2.0.1")
    def newer(order_id: str, amount: int, class_: str = "") -> None: ...

    @tool(binds="refund-order")
    def older(order_id: str) -> None: ...

    both = executor(newer, older)
    both.check([definition(), definition(fields("order-id", **{"order-id": TEXT}), version="1.0.0")])
    with pytest.raises(BindingError, match=r"older does not fit the tool refund-order@3"):
        both.check([definition(version="3.0.0")])


def missing(order_id: str, class_: str = "") -> None: ...


def misspelt(order_id: str, amuont: int, class_: str = "") -> None: ...


def extra(order_id: str, amount: int, reason: str, class_: str = "") -> None: ...


def without_default(order_id: str, amount: int, class_: str) -> None: ...


def other_type(order_id: str, amount: str, class_: str = "") -> None: ...


def other_enum(order_id: Literal[1], amount: list[int], class_: str = "") -> None: ...


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (missing, "no parameter 'amount' for the field 'amount'"),
        (misspelt, "did you mean 'amuont'"),
        (extra, "the parameter 'reason' is no field of the schema"),
        (without_default, "the field 'class' may be left out, and the parameter 'class_' has no default"),
        (other_type, "the field 'amount' may be integer, and the parameter 'amount' does not take int"),
        (other_enum, "the field 'amount' may be integer"),
    ],
)
def test_a_misfit_names_both_sides_and_what_to_do(function: Any, told: str) -> None:
    bound = executor(tool("refund-order")(function))
    with pytest.raises(BindingError, match=told) as caught:
        bound.check([definition()])
    assert "refund-order@2.0.1" in str(caught.value)
    assert function.__name__ in str(caught.value)


def test_a_function_may_take_more_than_types_can_say() -> None:
    @tool("refund-order")
    def refund(order_id, amount: float, **more: Any) -> None: ...  # type: ignore[no-untyped-def]

    executor(refund).check([definition()])


def test_a_tool_that_takes_a_text_needs_one_parameter() -> None:
    text = definition({"type": "string"}, payload=raw({"input_contract": {"argument_mode": "text"}}))

    @tool("refund-order")
    def one(text: str, times: int = 1) -> None: ...

    @tool("refund-order")
    def two(text: str, other: str) -> None: ...

    executor(one).check([text])
    with pytest.raises(BindingError, match="exactly one parameter"):
        executor(two).check([text])


def test_a_binding_to_nothing_is_told() -> None:
    @tool("refund-oder")
    def refund(order_id: str) -> None: ...

    with pytest.raises(BindingError, match="bound to 'refund-oder', and no tool has that id or name"):
        executor(refund).check([definition()])


def test_one_tool_has_one_function() -> None:
    @tool("refund-order")
    def first(order_id: str) -> None: ...

    @tool("refund-order")
    def second(order_id: str) -> None: ...

    with pytest.raises(BindingError, match="are both the tool 'refund-order'"):
        executor(first, second)
