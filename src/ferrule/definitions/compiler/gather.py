"""Gathers what definition files compile to: the raw material of a build and of a comparison. Judges nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ferrule.contracts.dialect import Definition, Dialect
from ferrule.definitions.compiler.check import BROKEN_KINDS, detect_dialect
from ferrule.definitions.compiler.read import read
from ferrule.model.document import Document, Source
from ferrule.model.outline import Outline
from ferrule.model.tool import Compiled


class SourcePiece(NamedTuple):
    """One definition of a file, with its outlines and what it compiled to."""

    file: str
    dialect: str
    definition: Definition
    outlines: tuple[Outline, ...]
    compiled: Compiled | None
    """None when the definition has mistakes that keep it from being compiled."""


def gather(
    sources: Iterable[Source],
    dialects: tuple[Dialect, ...],
    namespace: str,
    broken: set[tuple[str, str]] | None = None,
    unread: set[str] | None = None,
) -> Iterator[SourcePiece]:
    """Yields every definition of these files, in order.

    Files that cannot be parsed are added to `unread`, and kind and stem of the AML files among them to `broken`.
    """
    for source in sources:
        documents = read(source)
        dialect = next((found for document in documents if (found := detect_dialect(document, dialects))), None)
        if dialect is None:
            continue
        for document in documents:
            if not document.is_parsed:
                if broken is not None:
                    broken.update(_name_broken_file(source))
                if unread is not None:
                    unread.add(source.file)
                continue
            for definition in dialect.definitions(document)[0]:
                outlines = tuple(dialect.outline(document, definition, namespace))
                compiled = _try_compile(dialect, document, definition, namespace)
                yield SourcePiece(source.file, dialect.name, definition, outlines, compiled)


def _name_broken_file(source: Source) -> set[tuple[str, str]]:
    return {(kind, source.name.removesuffix(end)) for end, kind in BROKEN_KINDS.items() if source.name.endswith(end)}


def _try_compile(dialect: Dialect, document: Document, definition: Definition, namespace: str) -> Compiled | None:
    try:
        return dialect.compile(document, definition, namespace)
    except Exception:  # dialects promise nothing about definitions with errors
        return None
