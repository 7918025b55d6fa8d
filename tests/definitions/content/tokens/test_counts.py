"""Counting tokens with what is installed here, which may be nothing. Nothing is fetched."""

from __future__ import annotations

import hashlib
import sys
from base64 import b64encode
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ferrule.definitions.content import tokens
from ferrule.definitions.content.tokens import counter_for

URL = "https://vocabularies.example/o200k_base.tiktoken"


def load_tiktoken_bpe(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """What the library would do: fetch."""
    raise AssertionError(f"{url} was fetched")


def o200k_base() -> dict[str, Any]:
    """A function as tiktoken's own: it names an address, and a digest."""
    ranks = load_tiktoken_bpe(URL, expected_hash=hashlib.sha256(vocabulary()).hexdigest())
    return {"name": "o200k_base", "pat_str": ".", "mergeable_ranks": ranks, "special_tokens": {}}


def vocabulary() -> bytes:
    return b"".join(b64encode(bytes([number])) + f" {number}\n".encode() for number in range(256))


class Encoding:
    """A tokenizer that makes a token of every byte it has a rank for."""

    def __init__(self, mergeable_ranks: dict[bytes, int], **rest: Any) -> None:
        self.ranks = mergeable_ranks

    def encode(self, text: str, disallowed_special: Any = None) -> list[int]:
        return [self.ranks[bytes([byte])] for byte in text.encode()]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tokenizer of that shape, and a folder for its vocabularies."""
    public, package = ModuleType("tiktoken_ext.openai_public"), ModuleType("tiktoken")
    public.o200k_base = o200k_base  # type: ignore[attr-defined]  # as the library has it
    package.Encoding = Encoding  # type: ignore[attr-defined]  # as the library has it
    monkeypatch.setitem(sys.modules, "tiktoken_ext", ModuleType("tiktoken_ext"))
    monkeypatch.setitem(sys.modules, "tiktoken_ext.openai_public", public)
    monkeypatch.setitem(sys.modules, "tiktoken", package)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tokens, "_tiktoken", tokens._tiktoken.__wrapped__)
    return tmp_path


def file_in(folder: Path) -> Path:
    return folder / hashlib.sha1(URL.encode()).hexdigest()


def test_a_vocabulary_that_lies_here_counts_exactly(installed: Path) -> None:
    file_in(installed).write_bytes(vocabulary())
    for provider in ("openai", "openai-responses"):
        counter = counter_for(provider)
        assert (counter.name, counter.is_exact, counter.count("tools")) == ("o200k_base", True, 5)
    assert counter_for("openai").count("\ud800") == 1, "half a character is counted as one sign"


def test_a_vocabulary_that_does_not_lie_here_is_not_fetched(installed: Path) -> None:
    counter = counter_for("openai")
    assert (counter.name, counter.is_exact) == ("estimate", False)


def test_a_damaged_vocabulary_is_not_used_and_stays(installed: Path) -> None:
    file_in(installed).write_bytes(vocabulary()[:100])
    assert counter_for("openai").name == "estimate"
    assert file_in(installed).exists()


def test_what_nobody_publishes_is_estimated() -> None:
    for provider in ("anthropic", "gemini", "bedrock", "mcp", "", "nobody"):
        counter = counter_for(provider)
        assert (counter.name, counter.count("x" * 45)) == ("estimate", 10)
