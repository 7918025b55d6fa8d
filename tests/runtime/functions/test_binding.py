"""The tool a function makes of itself."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import msgspec
import pytest

from ferrule.contracts.executor import Context, Output, Waiting
from ferrule.errors import BindingError
from ferrule.model.canonical import digest_of_tool
from ferrule.model.tool import Tool
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import Binding, functions_in, tool
from ferrule.runtime.functions.docstring import read_docstring
from ferrule.runtime.functions.signature import python_name
from ferrule.runtime.pipeline.arguments.validation import Arguments, Parsed, Problem
from ferrule.schema.validation.soundness import schema_defects
from tests.runtime.functions import samples
from tests.runtime.functions.samples import EXAMPLE, everything


def made(function: Any) -> Tool:
    (binding,) = functions_in(function, namespace="shop")
    assert binding.tool is not None
    return binding.tool


def schema_of(function: Any) -> dict[str, Any]:
    schema: dict[str, Any] = msgspec.json.decode(made(function).input_schema)
    return schema


def test_signature_and_docstring_make_a_tool() -> None:
    found = made(everything)
    assert (found.tool_id, found.namespace, found.name) == ("shop.everything", "shop", "everything")
    assert found.description == "Take everything there is."
    assert (found.dialect, found.lifecycle, found.tool_kind) == ("python", "available", "function")
    assert msgspec.json.decode(found.payload)["function"] == "tests.runtime.functions.samples:everything"


def test_every_supported_type_has_a_sound_schema_that_takes_its_values() -> None:
    found = made(everything)
    schema = schema_of(everything)
    assert schema_defects(schema) == []
    assert schema["additionalProperties"] is False
    assert "context" not in schema["properties"]
    assert schema["properties"]["amount"] == {"type": "integer", "minimum": 1, "description": "In cents."}
    assert schema["properties"]["who"]["description"] == "Whose it is."
    assert schema["properties"]["lines"]["description"] == "The lines of the order."
    assert schema["properties"]["when"]["format"] == "date-time"
    assert schema["properties"]["from"] == {"type": "string", "default": "here"}
    assert schema["$defs"]["Line"]["additionalProperties"] is False
    assert "from" not in schema["required"]
    assert Arguments.of(found).parse(msgspec.json.encode(EXAMPLE)) == Parsed(EXAMPLE)
    stray = EXAMPLE | {"lines": [{"sku": "x", "colour": 1}]}
    assert isinstance(Arguments.of(found).parse(msgspec.json.encode(stray)), Problem)


def test_the_output_schema_comes_from_the_return_annotation() -> None:
    output = made(everything).output_schema
    assert output is not None
    assert msgspec.json.decode(output)["items"] == {"$ref": "#/$defs/Line"}

    @tool
    def one() -> int | Waiting:
        """Give a number, after a while."""
        return 1

    @tool
    def other() -> Output:
        """Give something."""
        return Output(1)

    assert msgspec.json.decode(made(one).output_schema or b"") == {"type": "integer"}
    assert made(other).output_schema is None


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

    facts = made(silent).facts
    assert (facts.is_read_only, facts.is_concurrency_safe, facts.is_open_world) == (False, False, True)
    assert "is_destructive" in made(silent).inferred_facts
    assert made(stated).facts.is_read_only is True
    assert "is_destructive" not in made(stated).inferred_facts
    assert msgspec.json.decode(made(stated).payload)["idempotent"] is True


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

    found = made(refund)
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

    before = digest_of_tool(made(add))
    assert before == digest_of_tool(made(add))
    add.__doc__ = "Add one."
    assert digest_of_tool(made(add)) != before


def test_the_function_stays_a_function() -> None:
    @tool(read_only=True)
    def double(a: int) -> int:
        """Double."""
        return 2 * a

    assert double(4) == 8


def untyped(a) -> int:  # type: ignore[no-untyped-def]
    """Say."""
    return 1


def many(*values: int) -> int:
    """Say."""
    return 1


def named(**values: int) -> int:
    """Say."""
    return 1


def positional(a: int, /) -> int:
    """Say."""
    return 1


def odd(a: complex) -> int:
    """Say."""
    return 1


def two_texts(a: str | Annotated[bytes, 1]) -> int:
    """Say."""
    return 1


def nowhere(a: Missing) -> int:  # type: ignore[name-defined]  # noqa: F821
    """Say."""
    return 1


def stream() -> Iterator[int]:
    """Say."""
    yield 1


async def async_stream() -> AsyncIterator[int]:
    """Say."""
    yield 1


def wordless(a: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (untyped, "'a' of .*untyped has no annotation"),
        (many, r"takes \*values"),
        (named, r"takes \*\*names"),
        (positional, "'a' of .* is positional-only"),
        (odd, "annotated complex, which has no JSON form"),
        (two_texts, "no JSON form"),
        (nowhere, "cannot be resolved"),
        (stream, "is a generator"),
        (async_stream, "is a generator"),
        (wordless, "write a docstring"),
    ],
)
def test_what_no_tool_can_have_is_refused_with_what_to_do(function: Any, told: str) -> None:
    with pytest.raises(BindingError, match=told):
        made(Binding(function))


def test_slips_in_the_decorator_are_told() -> None:
    with pytest.raises(BindingError, match="no such parameter"):
        made(tool(sensitive=("crad",))(wordy))
    with pytest.raises(BindingError, match="no risk level"):
        tool(risk="enormous")(wordy)
    with pytest.raises(BindingError, match=r"sensitive=\('card',\)"):
        tool(sensitive="card")
    with pytest.raises(BindingError, match="leave out read_only"):
        tool("refund-order", read_only=True)(wordy)
    with pytest.raises(BindingError, match="has no name"):
        made(Binding(lambda: None))


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


def test_fields_become_legal_names() -> None:
    assert [python_name(field) for field in ("user-id", "from", "2fa", "ok", "")] == [
        "user_id",
        "from_",
        "_2fa",
        "ok",
        "_",
    ]


def test_a_context_is_no_field() -> None:
    @tool
    def who(context: Context) -> str:
        """Say who asks."""
        return context.principal

    assert schema_of(who)["properties"] == {}


class Model:
    """Looks like a pydantic model to us: three methods are all we use of one."""

    def __init__(self, sku: str) -> None:
        self.sku = sku

    @classmethod
    def model_json_schema(cls, *, ref_template: str) -> dict[str, Any]:
        line = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
        return {"$ref": ref_template.format(model="Sold"), "$defs": {"Sold": line}}

    @classmethod
    def model_validate(cls, value: Any) -> Model:
        return cls(value["sku"])

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return {"sku": self.sku}


def sell(model: Model) -> Model:
    """Sell it."""
    assert isinstance(model, Model)
    return model


def test_models_of_pydantic_bring_their_own_schema() -> None:
    schema = schema_of(Binding(sell))
    assert schema_defects(schema) == []
    assert schema["properties"]["model"] == {"$ref": "#/$defs/Sold"}
    assert schema["$defs"]["Sold"]["additionalProperties"] is False
    executor = FunctionExecutor([Binding(sell, inline=True)])
    run = executor.prepare(executor.tools[0])
    assert run({"model": {"sku": "x"}}, Context("inv_1", "ann", None, "default")) == {"sku": "x"}
