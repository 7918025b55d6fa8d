"""Rules about several files at once."""

from ferrule.contracts.rule import LibraryRule

LIBRARY_RULES: tuple[LibraryRule, ...] = ()
