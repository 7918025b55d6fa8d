"""Which language stubs are written in: a word, or what an agent file says (ADL `spec.language`)."""

from __future__ import annotations

import os

import click

from ferrule.cli.gen_tools import ENDINGS
from ferrule.definitions.carried import decoded
from ferrule.definitions.stubs.languages.builtin import LANGUAGES
from ferrule.model.hints import nearest
from ferrule.model.value import dig
from ferrule.workspace.workspace import Workspace

ALIASES = {
    "golang": "go",
    "ts": "typescript",
    "js": "typescript",
    "javascript": "typescript",
    "rs": "rust",
    "py": "python",
}


def language_of(word: str) -> str:
    """The language of a word. Raises UsageError for one that means none."""
    name = ALIASES.get(word.lower(), word.lower())
    if name not in LANGUAGES.names():
        known = (*LANGUAGES.names(), *ALIASES)
        hint = nearest(word, known) or f"there are {', '.join(LANGUAGES.names())}"
        raise click.UsageError(f"there is no language {word!r}; {hint}")
    return name


def is_file(word: str) -> bool:
    """True for a definition file that is there."""
    return word.endswith(ENDINGS) and os.path.isfile(word)


def language_in(file: str) -> str:
    """The language that an agent file names. Raises UsageError where it names none, or several."""
    compiled = Workspace.open(file).compile([file])
    records = [record for one in compiled for each in one.compiled for record in each.records]
    manifests = [decoded(record.payload) for record in records if record.kind == "manifest"]
    written = [dig(each, ("spec", "language")) for each in manifests]
    named = [name for each in written if isinstance(each, dict) for name in each if name in LANGUAGES.names()]
    if len(named) != 1:
        says = f"names {' and '.join(named)}" if named else "names no language"
        raise click.UsageError(f"{file} {says}; say which: ferrule gen LANG {file} --out DIR")
    return named[0]


def list_languages() -> None:
    """Print the languages and their flavours."""
    for language in LANGUAGES:
        flavours = f"  --flavour {', '.join(language.flavours)}" if language.flavours else ""
        click.echo(f"{language.name:<12}{language.title}{flavours}")
