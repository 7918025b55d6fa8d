"""Python as a language of stubs."""

from __future__ import annotations

from ferrule.contracts.language import Plan, SourceFile, ToolNote, Written
from ferrule.languages.python.member_names import KEYWORDS
from ferrule.languages.python.type_module import notes_of

_IMPORTED = """
    Any Literal NotRequired TypeAlias TypedDict Union UNSET UnsetType BaseModel ConfigDict Field TypeAliasType Codec Types
    INPUT OUTPUT INPUT_SCHEMA OUTPUT_SCHEMA Context Client SyncClient CallOptions Mapping Annotated
"""


class Python:
    """Stubs in Python 3.11 and later."""

    name = "python"
    title = "Python"
    flavours = ("msgspec", "pydantic", "dataclass", "typeddict")
    reserved_types = frozenset(_IMPORTED.split()) | KEYWORDS
    reserved_endings = ("Contract",)
    reserved_stems = KEYWORDS | {"registry"}

    def write(self, plan: Plan) -> Written:
        """All files of a plan."""
        flavour = plan.flavour or self.flavours[0]
        files: list[SourceFile] = []
        notes: list[ToolNote] = [note for tool in plan.tools for note in notes_of(tool, flavour)]
        return Written(tuple(files), tuple(notes))


LANGUAGE = Python()
