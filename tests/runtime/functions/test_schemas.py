"""JSON Schemas of what a function takes and gives."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from ferrule.contracts.executor import Context, Output, Waiting
from ferrule.errors import BindingError
from ferrule.runtime.executors.function import FunctionExecutor
from ferrule.runtime.functions import Binding, tool
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments, ParsedArguments
from ferrule.schema.validation.soundness import schema_defects
from tests.runtime.functions.function_tools import make_tool, read_input_schema
from tests.runtime.functions.samples import EXAMPLE, everything


def test_every_supported_type_has_a_sound_schema_that_takes_its_values() -> None:
    found = make_tool(everything)
    schema = read_input_schema(everything)
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
    assert Arguments.of(found).parse(msgspec.json.encode(EXAMPLE)) == ParsedArguments(EXAMPLE)
    stray = EXAMPLE | {"lines": [{"sku": "x", "colour": 1}]}
    assert isinstance(Arguments.of(found).parse(msgspec.json.encode(stray)), ArgumentProblem)


def test_the_output_schema_comes_from_the_return_annotation() -> None:
    output = make_tool(everything).output_schema
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

    assert msgspec.json.decode(make_tool(one).output_schema or b"") == {"type": "integer"}
    assert make_tool(other).output_schema is None


def untyped(a) -> int:  # type: ignore[no-untyped-def]
    """Say."""
    return 1


def named(**values: int) -> int:
    """Say."""
    return 1


def odd(a: complex) -> int:
    """Say."""
    return 1


def two_texts(a: str | Annotated[bytes, 1]) -> int:
    """Say."""
    return 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (untyped, "'a' of .*untyped has no annotation"),
        (named, r"takes \*\*names"),
        (odd, "annotated complex, which has no JSON form"),
        (two_texts, "no JSON form"),
    ],
)
def test_what_no_tool_can_have_is_refused_with_what_to_do(function: Any, told: str) -> None:
    with pytest.raises(BindingError, match=told):
        make_tool(Binding(function))


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
    schema = read_input_schema(Binding(sell))
    assert schema_defects(schema) == []
    assert schema["properties"]["model"] == {"$ref": "#/$defs/Sold"}
    assert schema["$defs"]["Sold"]["additionalProperties"] is False
    executor = FunctionExecutor([Binding(sell, inline=True)])
    run = executor.prepare(executor.tools[0])
    assert run({"model": {"sku": "x"}}, Context("inv_1", "ann", None, "default")) == {"sku": "x"}
