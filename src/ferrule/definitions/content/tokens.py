"""Counts the tokens of a text with a provider's tokenizer where that is installed with its vocabulary; else estimates.

It never fetches anything: a vocabulary that is not on this machine counts as missing. It counts the text as written; no
provider publishes what it adds around tools. Lists, surfaces and exports use the one estimate, measured against
`o200k_base` and `cl100k_base` over tool definitions as compact JSON: 4.5 characters a token, on average 5 % off, at most
16 % for one tool. Letters outside ASCII count by their bytes: from 13 % too few (Chinese) to 80 % too many (Hindi) in
single sentences.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import tempfile
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

CHARACTERS_A_TOKEN = 4.5
EXTRA_BYTES_A_TOKEN = 5
"""Bytes of UTF-8 beyond one for each character."""


def estimate_tokens(*texts: str | bytes) -> int:
    """Estimates how many tokens the texts have together. Bytes are UTF-8."""
    characters = extra = 0
    for text in texts:
        letters = (
            len(text) if text.isascii() else len(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
        )
        characters += letters
        if not text.isascii():
            extra += len(text if isinstance(text, bytes) else text.encode("utf-8", "replace")) - letters
    return math.ceil(characters / CHARACTERS_A_TOKEN + extra / EXTRA_BYTES_A_TOKEN)


ESTIMATE = "estimate"
_ENCODING = "o200k_base"
"""The encoding of OpenAI's models since 2024."""
_SHIPPED = (("litellm", "litellm_core_utils/tokenizers"), ("llama_index", "core/_static/tiktoken_cache"))
"""Packages that ship vocabularies of tiktoken."""


class TokenCounter(NamedTuple):
    """A way to count."""

    name: str
    """`o200k_base`, `tekken`, or `estimate`."""
    count: Callable[[str], int]

    @property
    def is_exact(self) -> bool:
        """True when a tokenizer counts."""
        return self.name != ESTIMATE


def find_counter(provider: str) -> TokenCounter:
    """Returns the most exact counter for a provider on this machine."""
    found = None
    if provider.startswith("openai"):
        found = _load_tiktoken()
    elif provider == "mistral":
        found = _load_tekken()
    return found or TokenCounter(ESTIMATE, estimate_tokens)


@cache
def _load_tiktoken() -> TokenCounter | None:
    """Loads OpenAI's tokenizer, when it is installed and its vocabulary is on this machine."""
    try:
        module = importlib.import_module("tiktoken_ext.openai_public")
        build: Any = getattr(module, _ENCODING)
        # tiktoken downloads missing vocabularies: run its own function with a loader that only reads local files.
        offline = FunctionType(build.__code__, {**build.__globals__, "load_tiktoken_bpe": _read_vocabulary})
        encoding: Any = importlib.import_module("tiktoken").Encoding(**offline())
    except (ImportError, AttributeError, OSError, ValueError, TypeError):
        return None
    return TokenCounter(_ENCODING, lambda text: len(encoding.encode(_replace_surrogates(text), disallowed_special=())))


def _read_vocabulary(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Reads the ranks of a vocabulary from the caches of tiktoken and other packages. Raises FileNotFoundError."""
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    for folder in _list_folders():
        file = folder / name
        if not file.is_file():
            continue
        data = file.read_bytes()
        if expected_hash is None or hashlib.sha256(data).hexdigest() == expected_hash:
            lines = (line.split() for line in data.splitlines() if line)
            return {b64decode(token): int(rank) for token, rank in lines}
    raise FileNotFoundError(name)


def _list_folders() -> Iterator[Path]:
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    yield Path(tempfile.gettempdir()) / "data-gym-cache"
    for package, inside in _SHIPPED:
        yield from (folder / inside for folder in _find_package(package))


@cache
def _load_tekken() -> TokenCounter | None:
    """Loads Mistral's tokenizer, which its package ships."""
    files = [file for folder in _find_package("mistral_common") for file in (folder / "data").glob("tekken_*.json")]
    if not files:
        return None
    try:
        module: Any = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
        tokenizer = module.Tekkenizer.from_file(str(max(files)))
    except (ImportError, AttributeError, OSError, ValueError, TypeError):
        return None
    return TokenCounter("tekken", lambda text: len(tokenizer.encode(_replace_surrogates(text), bos=False, eos=False)))


def _find_package(name: str) -> list[Path]:
    """Returns the folders of a package without importing it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []


def _replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()
