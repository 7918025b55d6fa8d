"""Functions for Mistral: the shape of OpenAI's chat completions, with its own rules for schemas."""

from __future__ import annotations

from ferrule.definitions.formats.openai import ChatFunctions

FORMAT = ChatFunctions("mistral", "Mistral", "mistral", "mistral")
