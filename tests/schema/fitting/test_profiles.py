"""Every fact about a provider has a source and a day, and a rule that is set says so."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from ferrule.schema.fitting import PROFILES, Profile, fit
from tests.cpu_time import least_cpu_seconds
from tests.schema.fitting.obedience import offences

NAMES = [
    "openai",
    "openai-strict",
    "anthropic",
    "anthropic-strict",
    "gemini",
    "gemini-openapi",
    "mistral",
    "ollama",
    "bedrock",
]
SPARE = {"name", "title", "sources", "is_description_advice", "draft"}


def test_the_profiles_are_these() -> None:
    assert list(PROFILES) == NAMES
    assert all(profile.name == name for name, profile in PROFILES.items())


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_rule_that_is_set_has_a_source_and_a_day(profile: Profile) -> None:
    for field in msgspec.structs.fields(profile):
        is_set = getattr(profile, field.encode_name) != (None if field.default is msgspec.NODEFAULT else field.default)
        if is_set and field.encode_name not in SPARE:
            assert field.encode_name in profile.sources, field.encode_name
    for name, source in profile.sources.items():
        assert hasattr(profile, name) and source.text
        assert re.fullmatch(r"202\d-[01]\d-[0-3]\d", source.seen)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_tool_without_arguments_is_an_object_without_properties(profile: Profile) -> None:
    empty: Any
    for empty in ({}, {"type": "object"}, {"type": "object", "properties": {}}, True):
        fitted = fit(empty, profile)
        assert offences(fitted.schema, profile) == []
        assert fitted.schema["type"] == "object" and fitted.schema["properties"] == {}
        assert fitted.steps == ()


def test_many_tools_take_little_time() -> None:
    properties = {
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "tags": {"type": "array", "items": {"type": "string"}},
        "since": {"type": "string", "format": "date-time", "description": "From when on"},
        "order": {"type": "string", "enum": ["asc", "desc"]},
    }
    schemas = [{"type": "object", "properties": {f"query{at}": {"type": "string"}, **properties}} for at in range(1000)]
    seconds, _ = least_cpu_seconds(lambda: [fit(schema, PROFILES["openai-strict"]) for schema in schemas])
    assert seconds < 0.5  # about 0.07 on an idle machine


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_what_is_taken_already_stays_as_it_is(profile: Profile) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"words": {"type": "string", "description": "What to look for"}, "exact": {"type": "boolean"}},
        "required": ["words", "exact"],
    }
    if profile.is_closed:
        schema["additionalProperties"] = False
    fitted = fit(schema, profile)
    assert fitted.schema == schema
    assert fitted.steps == () == fitted.changes
    assert fit(schema, profile) is fitted
