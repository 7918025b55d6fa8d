"""`ferrule token`: the same as `ferrule key`, by the word that people use for their own."""

from __future__ import annotations

from ferrule.cli.key import command

__all__ = ["command"]
