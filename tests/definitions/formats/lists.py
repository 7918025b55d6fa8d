"""Definitions of functions as people keep them in lists for a provider."""

from __future__ import annotations

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "x-unknown": [1]}


BARE = {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA}


CHAT_TOOL = {"type": "function", "function": {**BARE, "strict": False, "x-inner": 1}, "x-outer": {"a": 1}}


FLAT = {"type": "function", **BARE, "strict": None, "output_schema": {"type": "string"}, "allowed_callers": ["direct"]}


OLD_DECLARATION = {
    "name": "get:weather.now",
    "description": "The weather.",
    "parameters": {
        "type": "OBJECT",
        "properties": {"days": {"type": "INTEGER", "nullable": True}, "tags": {"type": "ARRAY", "minItems": "1"}},
    },
}
