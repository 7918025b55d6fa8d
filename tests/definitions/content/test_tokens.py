"""Tokens are counted by an installed tokenizer or estimated, and nothing is fetched."""

from __future__ import annotations

import hashlib
import sys
from base64 import b64encode
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.content import tokens
from ferrule.definitions.content.tokens import estimate_tokens, find_counter

URL = "https://vocabularies.example/o200k_base.tiktoken"


def load_tiktoken_bpe(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Stands for the loader of the library, which fetches."""
    raise AssertionError(f"{url} was fetched")


def o200k_base() -> dict[str, Any]:
    """Loads a vocabulary by address and digest, as the library's function does."""
    ranks = load_tiktoken_bpe(URL, expected_hash=hashlib.sha256(vocabulary()).hexdigest())
    return {"name": "o200k_base", "pat_str": ".", "mergeable_ranks": ranks, "special_tokens": {}}


def vocabulary() -> bytes:
    return b"".join(b64encode(bytes([number])) + f" {number}\n".encode() for number in range(256))


class FakeEncoding:
    """A tokenizer that makes a token of every byte it has a rank for."""

    def __init__(self, mergeable_ranks: dict[bytes, int], **rest: Any) -> None:
        self.ranks = mergeable_ranks

    def encode(self, text: str, disallowed_special: Any = None) -> list[int]:
        return [self.ranks[bytes([byte])] for byte in text.encode()]


@pytest.fixture
def tiktoken_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tokenizer of that shape, and a folder for its vocabularies."""
    public, package = ModuleType("tiktoken_ext.openai_public"), ModuleType("tiktoken")
    public.o200k_base = o200k_base  # type: ignore[attr-defined]  # as the library has it
    package.Encoding = FakeEncoding  # type: ignore[attr-defined]  # as the library has it
    monkeypatch.setitem(sys.modules, "tiktoken_ext", ModuleType("tiktoken_ext"))
    monkeypatch.setitem(sys.modules, "tiktoken_ext.openai_public", public)
    monkeypatch.setitem(sys.modules, "tiktoken", package)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tokens, "_load_tiktoken", tokens._load_tiktoken.__wrapped__)
    return tmp_path


def cached_file(folder: Path) -> Path:
    return folder / hashlib.sha1(URL.encode()).hexdigest()


def test_a_local_vocabulary_counts_exactly(tiktoken_cache: Path) -> None:
    cached_file(tiktoken_cache).write_bytes(vocabulary())
    for provider in ("openai", "openai-responses"):
        counter = find_counter(provider)
        assert (counter.name, counter.is_exact, counter.count("tools")) == ("o200k_base", True, 5)
    assert find_counter("openai").count("\ud800") == 1, "a lone surrogate counts as one character"


def test_a_missing_vocabulary_is_not_fetched(tiktoken_cache: Path) -> None:
    counter = find_counter("openai")
    assert (counter.name, counter.is_exact) == ("estimate", False)


def test_a_damaged_vocabulary_is_not_used_and_stays(tiktoken_cache: Path) -> None:
    cached_file(tiktoken_cache).write_bytes(vocabulary()[:100])
    assert find_counter("openai").name == "estimate"
    assert cached_file(tiktoken_cache).exists()


def test_providers_without_a_public_tokenizer_are_estimated() -> None:
    for provider in ("anthropic", "gemini", "bedrock", "mcp", "", "nobody"):
        counter = find_counter(provider)
        assert (counter.name, counter.count("x" * 45)) == ("estimate", 10)


COUNTED = [
    # A text, and what two public vocabularies make of it: o200k_base and cl100k_base.
    ("Sucht eine Bestellung anhand ihrer Nummer und gibt ihren Zustand zurück. Nicht für Rückerstattungen verwenden.", 21, 26),
    ("Recherche une commande par son numéro et renvoie son état.", 12, 14),
    ("Βρίσκει μια παραγγελία με τον αριθμό της και επιστρέφει την κατάστασή της.", 25, 63),
    ("注文番号で注文を検索し、その状態を返します。返金には使用しないでください。", 22, 37),
    ("按订单号查找订单并返回其状态。不要用于退款。", 15, 18),
    ("주문 번호로 주문을 찾아 상태를 반환합니다. 환불에는 사용하지 마세요.", 20, 28),
]  # fmt: skip


@pytest.mark.parametrize(("text", "newer", "older"), COUNTED)
def test_the_estimate_of_a_sentence_is_near_what_vocabularies_count(text: str, newer: int, older: int) -> None:
    assert 0.85 * newer <= estimate_tokens(text) <= 1.25 * older


def test_no_text_is_no_token() -> None:
    assert estimate_tokens() == estimate_tokens("", b"") == 0


@given(st.lists(st.text(max_size=40), max_size=5), st.text(max_size=40))
def test_more_text_is_never_fewer_tokens(texts: list[str], more: str) -> None:
    assert estimate_tokens(*texts) <= estimate_tokens(*texts, more)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=5))
def test_bytes_count_as_their_text(texts: list[str]) -> None:
    assert (
        estimate_tokens(*texts)
        == estimate_tokens(*(text.encode() for text in texts))
        == estimate_tokens("".join(texts))
    )
