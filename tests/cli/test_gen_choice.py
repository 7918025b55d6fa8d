"""What stubs are made of: the language by its word or by an agent's file, and what is told of words that mean none."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from ferrule.cli.gen_choice import find_language, is_file, read_language
from ferrule.definitions.stubs.languages.builtin import LANGUAGES


@pytest.mark.parametrize("word", ["python", "Python", "PYTHON"])
def test_a_language_is_found_in_any_letter_case(word: str) -> None:
    assert find_language(word) == "python"


def test_a_word_that_means_no_language_gets_the_nearest() -> None:
    with pytest.raises(click.UsageError, match="there is no language 'pyton'; did you mean 'python'"):
        find_language("pyton")
    with pytest.raises(click.UsageError, match=", ".join(LANGUAGES.names())):
        find_language("zzzzzzzz")


def manifest(folder: Path, *languages: str) -> str:
    value = {
        "apiVersion": "adl.inference-gateway.com/v1",
        "kind": "Agent",
        "metadata": {"name": "packer", "description": "Packs.", "version": "1.0.0"},
        "spec": {
            "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
            "server": {"port": 8080},
            "language": {name: {} for name in languages},
        },
    }
    file = folder / "packer.yaml"
    file.write_text(json.dumps(value))
    return str(file)


def test_an_agents_file_names_its_language(tmp_path: Path) -> None:
    assert read_language(manifest(tmp_path, "go")) == "go"


@pytest.mark.parametrize(("languages", "told"), [((), "names no language"), (("go", "rust"), "names go and rust")])
def test_a_file_that_names_none_or_several_is_asked_about(
    languages: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    with pytest.raises(click.UsageError, match=told):
        read_language(manifest(tmp_path, *languages))


def test_only_a_definition_file_that_is_there_is_one(tmp_path: Path) -> None:
    file = manifest(tmp_path, "go")
    assert is_file(file)
    assert not is_file(str(tmp_path / "none.yaml")) and not is_file(str(tmp_path)) and not is_file("python")
