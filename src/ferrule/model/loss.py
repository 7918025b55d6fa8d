"""The losses of a conversion: each is one thing that the target format could not express."""

from __future__ import annotations

from typing import Literal

import msgspec

Instead = Literal["dropped", "default", "description", "extension", "rewritten"]
"""The replacement: nothing; a value made up because the target demands it; words in the description; a key of our own
that other readers skip; or another way to express the same. Names can be mapped back through the list of changed
names; a schema only for a model's answers, which are converted into the tool's own arguments, not for a reader of
the file."""

EXTENSION = "x-ferrule"
"""The key under which a format that takes keys of others carries what it has no words for, in the canonical model's words."""
META_EXTENSION = "dev.ferrule/tool"
"""The same in `_meta` of MCP."""


class Loss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that the target of a conversion cannot express as the source did."""

    tool_id: str
    field: str
    """A field of the canonical tool (`title`, `facts.is_destructive`), a place in one of its schemas
    (`input_schema/properties/when/format`), or a key of the source's own (`aml.transport`)."""
    why: str
    """Why the target cannot say it, in a sentence without a full stop."""
    instead: Instead = "dropped"
    put: str = ""
    """What was put instead: the extension key, the words, the new name, the other spelling."""
    rule: str = ""
    """The requirement behind it, where there is one: `AML-26`, `OXP-11`."""
    file: str = ""
    line: int = 0
    """Where it was said, from 1; 0 where nobody knows."""

    @property
    def is_final(self) -> bool:
        """True when it cannot be read back from what was written."""
        return self.instead in ("dropped", "default", "description") or (
            self.instead == "rewritten" and "/" in self.field
        )
