"""Which bytes of a payload somebody wants."""

from __future__ import annotations


def span(size: int, offset: int, limit: int | None) -> range:
    """The positions from `offset` on, at most `limit` of them, that a payload of this size has. Raises ValueError below 0."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("offset and limit count bytes from 0 on")
    start = min(offset, size)
    return range(start, size if limit is None else min(start + limit, size))
