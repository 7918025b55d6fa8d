"""Functions for Ollama: the shape of OpenAI's chat completions. Its server drops what it does not know, so schemas are plain."""

from __future__ import annotations

from ferrule.definitions.formats.openai import ChatFunctions

FORMAT = ChatFunctions("ollama", "Ollama", "ollama", "", takes_other_names=True)
