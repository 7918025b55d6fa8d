"""About how many tokens a text is to a model: the one estimate that lists, surfaces and exports go by.

Measured against two public vocabularies (`o200k_base` and `cl100k_base`) over definitions of tools, written as JSON without
blanks: 4.5 characters a token, on average 5 in a hundred off, at most 16 for one tool. Letters outside ASCII are more, by the
bytes they take: from 13 in a hundred too few (Chinese) to 80 too many (Hindi) in single sentences. It is nobody's own count.
"""

from __future__ import annotations

import math

CHARACTERS_A_TOKEN = 4.5
EXTRA_BYTES_A_TOKEN = 5
"""Bytes of UTF-8 beyond one for each character."""


def token_estimate(*texts: str | bytes) -> int:
    """About how many tokens the texts are together. Bytes are UTF-8."""
    characters = extra = 0
    for text in texts:
        letters = (
            len(text) if text.isascii() else len(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
        )
        characters += letters
        if not text.isascii():
            extra += len(text if isinstance(text, bytes) else text.encode("utf-8", "replace")) - letters
    return math.ceil(characters / CHARACTERS_A_TOKEN + extra / EXTRA_BYTES_A_TOKEN)
