"""`ferrule import python`: real modules become definitions, which their functions run at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ferrule.app.imports.python import import_functions, list_functions
from ferrule.cli import main
from ferrule.workspace.workspace import Workspace

SHOP = '''
from __future__ import annotations
import dataclasses, enum
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NewType, Optional, TypedDict, Union
from uuid import UUID
import annotated_types, msgspec, pydantic
import ferrule
from os.path import join  # not its own

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclasses.dataclass
class Node:
    name: Annotated[str, annotated_types.MinLen(1)]
    children: list[Node] = dataclasses.field(default_factory=list)

class Address(TypedDict, total=False):
    street: str

class Box(msgspec.Struct):
    width: Annotated[int, msgspec.Meta(ge=1, description="In millimetres.")]
    where: Optional[Address] = None

class Model(pydantic.BaseModel):
    code: str = pydantic.Field(pattern="^[A-Z]+$", description="Its code.")

UserId = NewType("UserId", int)

def google(text: str, times: Annotated[int, pydantic.Field(gt=0, le=5)] = 1, colour: Colour = Colour.RED) -> str:
    """Repeat a text.

    More about it.

    Args:
        text: What to repeat.
        times (int): How often.
            At most five.
    """
    return text * times

def numpy_style(kind: Literal["a", "b"], size: float | None = None) -> dict[str, float]:
    """Measure something.

    Parameters
    ----------
    kind : str
        Which kind.
    size : float, optional
        How large.
    """
    return {"size": size or 0.0}

async def rest_style(box: Box, model: Model, user: UserId) -> list[int]:
    """Pack a box.

    :param box: The box.
    :param model: What it is for.
    """
    return [box.width, user, len(model.code)]

def tree(node: Node) -> Node:
    """Give a tree back."""
    return node

def exact(at: datetime, amount: Decimal, id: UUID, data: bytes, file: Path) -> dict[str, str]:
    """Tell what came."""
    return {"types": " ".join(type(each).__name__ for each in (at, amount, id, data))}

def either(value: Union[int, str, None] = None) -> bool:
    """Tell whether there is a value."""
    return value is not None

def nothing() -> None:
    """Do nothing."""

@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True, destructive=False, tags=("a",), sensitive=("pin",))
def marked(pin: str) -> int:
    """Count the digits of a pin."""
    return len(pin)

def _hidden(a: int) -> int:
    """Not public."""
    return a

def untyped(a):
    """Has no types."""

def undocumented(a: int) -> int:
    return a

def many(*args: int) -> int:
    """Takes a list of arguments."""
    return 0

def counts() -> object:
    """A generator."""
    yield 1

def strict(a: Annotated[str, annotated_types.Predicate(str.isupper)]) -> str:
    """Has a rule that no schema says."""
    return a
'''
GOOD = {"google", "numpy_style", "rest_style", "tree", "exact", "either", "nothing", "marked"}
BAD = {"untyped", "undocumented", "many", "counts", "strict"}


class ImportFolder:
    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys
        (root / "shop.py").write_text(SHOP)
        (root / "ferrule.toml").write_text('namespace = "shop"  # ours\n[policy]\nmode = "trusted"\n')

    def run(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = main([*words, "--workspace", str(self.root)])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        code, out, err = self.run("call", name, "--build", "--input", json.dumps(arguments))
        assert code == 0, out + err
        return json.loads(out)

    def definition(self, name: str) -> Any:
        return yaml.safe_load((self.root / "tools" / f"{name}.tool.md").read_text().split("---")[1])


@pytest.fixture
def import_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> ImportFolder:
    monkeypatch.chdir(tmp_path)
    return ImportFolder(tmp_path, capsys)


def test_every_function_that_can_be_is_imported_and_the_others_are_told_with_their_line(
    import_folder: ImportFolder,
) -> None:
    code, out, _ = import_folder.run("import", "python", "shop.py", "--report", "json")
    assert code == 1
    (report,) = json.loads(out)["imports"]
    assert {Path(one["file"]).name.removesuffix(".tool.md") for one in report["files"]} == GOOD
    assert {one["name"] for one in report["left_out"]} == BAD
    lines = SHOP.split("\n")
    for one in report["left_out"]:
        assert one["file"] == "shop.py"
        assert f"def {one['name']}(" in lines[one["line"] - 1]
        assert one["why"]
    assert any("tree: what it takes contains itself (Node)" in note for note in report["notes"])
    checked = Workspace.open(import_folder.root).check()
    assert checked.summary.errors == 0, checked.diagnostics


def test_imported_definitions_run_their_functions_at_once(import_folder: ImportFolder) -> None:
    import_folder.run("import", "python", "shop.py")
    assert (import_folder.root / "ferrule.toml").read_text().startswith('namespace = "shop"  # ours\n[policy]\n')
    assert import_folder.call("google", {"text": "ab", "times": 2}) == {"result": "abab"}
    assert import_folder.call("numpy_style", {"kind": "a", "size": 2.5}) == {"size": 2.5}
    box = {"box": {"width": 3}, "model": {"code": "AB"}, "user": 7}
    assert import_folder.call("rest_style", box) == {"result": [3, 7, 2]}
    deep = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    assert import_folder.call("tree", {"node": deep}) == deep
    given = {"at": "2026-01-01T00:00:00Z", "amount": "1.5", "id": "00000000-0000-4000-8000-000000000000", "data": "aGk=",
             "file": "a/b"}  # fmt: skip
    assert import_folder.call("exact", given) == {"types": "datetime Decimal UUID bytes"}
    assert import_folder.call("either", {"value": "x"}) == {"result": True}
    assert import_folder.call("nothing", {}) == {"result": None}
    assert import_folder.call("marked", {"pin": "123"}) == {"result": 3}
    code, out, err = import_folder.run("call", "google", "--input", '{"text": "a", "times": 6}')
    assert code != 0
    assert "must be 5 or less" in out + err


def test_docstrings_of_three_styles_types_and_defaults_are_in_the_definition(import_folder: ImportFolder) -> None:
    import_folder.run("import", "python", "shop.py", "--owner", "Team Shop")
    google = import_folder.definition("google")
    assert google["type"] == "function"
    assert google["meta"] == {"name": "Google", "description": "Repeat a text.\n\nMore about it.", "owner": "Team Shop"}
    inputs = google["interface"]["input"]
    assert inputs["properties"]["text"] == {"type": "string", "description": "What to repeat."}
    assert inputs["properties"]["times"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "maximum": 5,
        "default": 1,
        "description": "How often. At most five.",
    }
    assert inputs["properties"]["colour"]["default"] == "red"
    assert (inputs["required"], inputs["additionalProperties"]) == (["text"], False)
    numpy_style = import_folder.definition("numpy_style")["interface"]["input"]["properties"]
    assert [numpy_style[name]["description"] for name in ("kind", "size")] == ["Which kind.", "How large."]
    rest_style = import_folder.definition("rest_style")["interface"]["input"]["properties"]
    assert rest_style["box"]["description"] == "The box."
    assert rest_style["box"]["properties"]["width"]["minimum"] == 1
    assert rest_style["model"]["properties"]["code"]["pattern"] == "^[A-Z]+$"
    assert "$ref" not in json.dumps(import_folder.definition("tree"))


def test_what_nobody_states_is_not_claimed_by_the_type_of_the_definition(import_folder: ImportFolder) -> None:
    found = import_functions(import_folder.root, "shop.py", ["google", "marked"], namespace="shop", owner="x")
    for file, text in found.files.items():
        (import_folder.root / file).parent.mkdir(exist_ok=True)
        (import_folder.root / file).write_text(text)
    tools = {
        tool.tool_id: tool
        for file in Workspace.open(import_folder.root).compile()
        for compiled in file.compiled
        for tool in compiled.tools
    }
    assert (tools["google"].facts.is_read_only, tools["google"].facts.is_open_world) == (False, True)
    assert "is_read_only" in tools["google"].inferred_facts
    assert tools["marked"].facts.is_read_only is True
    assert "is_read_only" not in tools["marked"].inferred_facts
    assert msgspec.json.decode(tools["marked"].input_schema)["properties"]["pin"]["sensitive"] is True


def test_the_user_may_state_that_they_only_read(import_folder: ImportFolder) -> None:
    import_folder.run("import", "python", "shop.py", "google", "--read-only")
    assert "x-ferrule" not in import_folder.definition("google")


def test_a_changed_function_is_imported_again_and_edits_stay(import_folder: ImportFolder) -> None:
    import_folder.run("import", "python", "shop.py", "google", "--read-only")
    file = import_folder.root / "tools/google.tool.md"
    file.write_text(file.read_text().replace("use_guidance: {}", "use_guidance:  # mine\n  use_when: [Always.]"))
    (import_folder.root / "shop.py").write_text(SHOP.replace("le=5", "le=3").replace("What to repeat.", "The text."))
    code, out, _ = import_folder.run("import", "python", "--yes")
    assert code == 0, out
    assert "1 breaking" in out
    text = file.read_text()
    assert "use_guidance:  # mine\n  use_when: [Always.]" in text
    assert "maximum: 3" in text
    assert "The text." in text


def test_listing_runs_nothing(import_folder: ImportFolder) -> None:
    (import_folder.root / "loud.py").write_text(
        'open("ran", "w")\ndef one(a):\n    "x"\nasync def two(a: int): ...\ndef _no(): ...\n'
    )
    code, out, _ = import_folder.run("import", "python", "loud.py", "--no-run")
    assert code == 0
    assert out == "loud.py:2: one  (parameters without types)\nloud.py:4: two  (no docstring)\n"
    assert not (import_folder.root / "ran").exists()
    assert [one.name for one in list_functions(import_folder.root, "loud")] == ["one", "two"]


@pytest.mark.parametrize("text", ["raise RuntimeError('no')", "import sys; sys.exit(3)", "def f(", "x = 1"])
def test_a_module_that_cannot_be_imported_is_told(import_folder: ImportFolder, text: str) -> None:
    (import_folder.root / "odd.py").write_text(text)
    code, _, err = import_folder.run("import", "python", "odd.py")
    assert code == 2
    assert "odd.py" in err
    assert "Traceback" not in err


def test_a_tool_of_a_served_module_is_not_made_twice(import_folder: ImportFolder) -> None:
    settings = import_folder.root / "ferrule.toml"
    settings.write_text(settings.read_text() + '[functions]\nmodules = ["shop.py"]\n')
    _, out, _ = import_folder.run("import", "python", "shop.py", "marked")
    assert "it is a tool already" in out


TOLD = '''
import dataclasses
from typing import Annotated
import msgspec, pydantic
from pydantic import Field

@dataclasses.dataclass
class Money:
    """What is paid back.

    Attributes:
        amount: In cents.
    """
    amount: Annotated[int, Field(alias="cents")]

def refund(
    order_id: Annotated[str, Field(alias="orderId", examples=["O-1"], title="The order")],
    money: Money,
    more: Money,
    reason: Annotated[str, msgspec.Meta(examples=["late"], title="Reason", description="Why.")] = "",
) -> bool:
    """Refund an order.

    Use it only when the customer
    asked. It cannot be undone.

    Raises:
        KeyError: There is no such order.
    """
    return True

@pydantic.validate_call
def checked(size: int = Field(3, ge=1)) -> int:
    """Give a size back."""
    return size

@pydantic.validate_call
def renamed(size: Annotated[int, Field(alias="width")]) -> int:
    """Give a size back."""
    return size

def unchecked(size: int = Field(3, ge=1)) -> int:
    """Give a size back."""
    return size
'''


def test_all_prose_examples_and_attributes_are_in_the_definition_and_aliases_are_told(
    import_folder: ImportFolder,
) -> None:
    (import_folder.root / "told.py").write_text(TOLD)
    code, out, err = import_folder.run("import", "python", "told.py", "--report", "json")
    assert code == 1, out + err
    refund = import_folder.definition("refund")
    said = "Refund an order.\n\nUse it only when the customer asked. It cannot be undone."
    assert refund["meta"]["description"] == said
    inputs = refund["interface"]["input"]["properties"]
    assert inputs["order_id"] == {"type": "string", "examples": ["O-1"], "description": "The order"}
    assert inputs["money"]["description"] == "What is paid back."
    assert inputs["money"]["properties"]["amount"] == {"type": "integer", "description": "In cents."}
    assert inputs["reason"] == {"type": "string", "examples": ["late"], "default": "", "description": "Why."}
    (report,) = json.loads(out)["imports"]
    assert [one["why"] for one in report["left_out"]] == [
        "pydantic takes 'size' by its alias 'width' alone; take the alias away"
    ]
    assert report["notes"] == [
        "refund: the title 'Reason' of 'reason' is left out, because it has a description",
        "refund: 'order_id' has the alias 'orderId', which is not used; calls write 'order_id'",
        "refund: 'Money.amount' has the alias 'cents', which is not used; calls write 'amount'",
        "unchecked: the default of 'size' is a Field, which the function gets as it is; decorate it with pydantic.validate_call,"
        " or write the default itself",
    ]
    assert import_folder.call("refund", {"order_id": "O-1", "money": {"amount": 1}, "more": {"amount": 2}}) == {
        "result": True
    }
    assert import_folder.call("checked", {}) == {"result": 3}


@pytest.mark.parametrize(
    "text",
    [
        "\\ud800",
        "\\x00",
        "Args:",
        "Parameters\\n---",
        ":param",
        "---",
        "--- \\u2028 x",
        " \\t ",
        "x\\n\\n```\\ny",
        "# a: [b",
    ],
)
def test_an_odd_docstring_is_no_mistake_of_ours(import_folder: ImportFolder, text: str) -> None:
    (import_folder.root / "odd.py").write_text(f'def odd_one(a: int) -> int:\n    "{text}"\n    return a\n')
    code, out, err = import_folder.run("import", "python", "odd.py")
    assert "Traceback" not in out + err
    assert "mistake in Ferrule" not in out + err
    assert code in (0, 1, 2)
    assert Workspace.open(import_folder.root).check().summary.errors == 0
