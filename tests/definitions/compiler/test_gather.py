"""Definition files become what they compile to; what cannot be read takes nothing with it."""

from __future__ import annotations

from ferrule.definitions.compiler.gather import gather
from ferrule.model.document import Source
from ferrule.workspace.parts import load_parts
from tests.definitions.compiler.definitions import agent, oxp, tool


def source(name: str, text: str) -> Source:
    return Source(name, text.encode())


def test_every_definition_is_given_in_order_with_what_it_became() -> None:
    sources = [source("b.tool.md", tool("b-tool")), source("a.json", oxp()), source("h.agent.md", agent("b-tool"))]
    pieces = list(gather(sources, load_parts().dialects, "shop"))
    assert [(piece.file, piece.dialect) for piece in pieces] == [
        ("b.tool.md", "aml"),
        ("a.json", "oxp"),
        ("h.agent.md", "aml"),
    ]
    compiled = pieces[0].compiled
    assert compiled is not None and [each.tool_id for each in compiled.tools] == ["b-tool"]
    assert [len(piece.outlines) for piece in pieces] == [1, 1, 1]


def test_a_definition_with_mistakes_is_there_and_not_compiled() -> None:
    (piece,) = gather([source("a.tool.md", "---\ntool_id: a\ntransport: {}\n---\n")], load_parts().dialects, "shop")
    assert piece.compiled is None and piece.outlines


def test_a_file_that_cannot_be_parsed_is_told_by_name_and_kind() -> None:
    broken: set[tuple[str, str]] = set()
    unread: set[str] = set()
    sources = [source("tools/bad.tool.md", "---\na: [\n---\n"), source("tools/b.tool.md", tool("b-tool"))]
    assert len(list(gather(sources, load_parts().dialects, "shop", broken, unread))) == 1
    assert (broken, unread) == ({("tool", "bad")}, {"tools/bad.tool.md"})


def test_what_is_no_definition_is_passed_over() -> None:
    assert list(gather([source("notes.yaml", "a: 1\n")], load_parts().dialects, "shop")) == []
