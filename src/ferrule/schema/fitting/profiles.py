"""The facts about each provider. No live service was asked: every line says who did, or where it is documented.

When a fact changes, change it here, with its source and day; `docs/reference/provider-schemas.md` is generated from
this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ferrule.schema.fitting.profile import Profile, ProfileSource

_STRUCTURED = ProfileSource(
    "OpenAI's guide to structured outputs; limits compared with pydantic-ai 2.66.0", "2026-11-16"
)
_PYDANTIC_AI = ProfileSource("what pydantic-ai 2.66.0 sends, and why it says it does", "2026-11-16")
_OPENAI_ROOT = ProfileSource(
    "errors of the live service in nspady/google-calendar-mcp#39, goruck/home-generative-agent#545", "2026-08-12"
)
_OPENAI_PROPERTIES = ProfileSource("errors of the live service in spring-projects/spring-ai#4776", "2026-11-16")
_OPENAI_ITEMS = ProfileSource("errors of the live service in PrefectHQ/fastmcp#2464", "2025-11-21")
_OPENAI_NAME = ProfileSource("openai 3.49.0, types/shared_params/function_definition.py", "2026-11-16")
_OPENAI_COUNT = ProfileSource(
    "errors of the live service in zed-industries/zed#32946 and musistudio/claude-code-router#686 (2025)", "2026-11-16"
)
_OPENAI_TEXT = ProfileSource(
    "a limit enforced until April 2025 (getsentry/sentry-mcp#106), gone since (llama_index#18784)", "2025-05-19"
)
_CLAUDE_ROOT = ProfileSource("errors of the live service in anthropics/claude-code#5319, #40075, #44788", "2026-04-07")
_CLAUDE_KEYS = ProfileSource(
    "errors of the live service in anthropics/claude-code#79418, decocms/studio#6874", "2026-09-02"
)
_CLAUDE_NAME = ProfileSource("errors of the live service in anthropics/claude-code#96152, #21492", "2026-09-22")
_CLAUDE_DRAFT = ProfileSource("errors of the live service in anthropics/claude-code#63673", "2026-05-29")
_CLAUDE_STRICT = ProfileSource(
    "Anthropic's page on structured outputs, and anthropic 2.8.0 lib/_parse/_transform.py", "2026-11-16"
)
_CLAUDE_LIMITS = ProfileSource("the same page, under schema complexity limits; pydantic-ai 2.66.0", "2026-11-16")
_CLAUDE_CAREFUL = ProfileSource("not said by Anthropic's page; the careful reading", "2026-11-16", is_certain=False)
_GEMINI_PROTO = ProfileSource("google-genai 3.1.0 types.py; the Schema message of the Developer API", "2026-11-16")
_GEMINI_REFUSED = ProfileSource("errors of the live service in pizza-bot#62, huggingface/tau#288", "2026-09-07")
_GEMINI_EMPTY = ProfileSource('seen to be refused: Bobsilvio/ha-claude issue 32, "enum: cannot be empty"', "2026-03-19")
_GEMINI_ENUM = ProfileSource(
    "errors of the live service in microsoft/azure-devops-mcp#145, weave-os/router#65", "2026-05-12"
)
_GEMINI_FORMATS = ProfileSource("the formats no error has been seen for", "2026-11-16", is_certain=False)
_GEMINI_JSON = ProfileSource("google-genai 3.1.0, documentation of response_json_schema", "2026-11-16")
_GEMINI_NAME = ProfileSource(
    "google-genai 3.1.0 allows 128 and more signs; servers of 2025 said this in gemini-cli#7869", "2026-11-16"
)
_GEMINI_COUNT = ProfileSource("errors of the live service in google-gemini/gemini-cli#19083, #25440", "2026-04-15")
_GEMINI_ITEMS = ProfileSource("errors of the live service in cline/cline#7339", "2026-11-16")
_MISTRAL = ProfileSource("mistral-common 1.13.0, protocol/instruct/validator.py", "2026-11-16")
_OLLAMA = ProfileSource(
    "the fields of api/types.go in Ollama's server, as mirrored; ollama 0.6.3 _types.py", "2026-11-16"
)
_BEDROCK = ProfileSource("botocore 1.44.0, the service model of bedrock-runtime", "2026-11-16")
_BEDROCK_MODEL = ProfileSource(
    "Converse hands schemas to the model; those are Claude's rules, the narrowest known", "2026-11-16", is_certain=False
)

_ROOT_UNIONS = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "const"})
_CLAUDE_UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
_WORDS = "^[a-zA-Z0-9_-]{1,64}$"
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})

_OPENAI = Profile(
    name="openai",
    title="OpenAI",
    root_refused=_ROOT_UNIONS,
    needs_items=True,
    needs_properties=True,
    tool_names=_WORDS,
    longest_tool_name=64,
    longest_description=1024,
    most_tools=128,
    sources={
        "root_refused": _OPENAI_ROOT,
        "needs_items": _OPENAI_ITEMS,
        "needs_properties": _OPENAI_PROPERTIES,
        "tool_names": _OPENAI_NAME,
        "longest_tool_name": _OPENAI_NAME,
        "longest_description": _OPENAI_TEXT,
        "most_tools": _OPENAI_COUNT,
    },
)
_OPENAI_STRICT = Profile(
    name="openai-strict",
    title="OpenAI, strict",
    accepted=frozenset(
        [
            "type",
            "description",
            "title",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "const",
            "$ref",
            "$defs",
            "pattern",
            "format",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
        ]
    ),
    others="refused",
    root_refused=_ROOT_UNIONS,
    allows_anything=False,
    is_all_required=True,
    is_closed=True,
    allows_maps=False,
    allows_tuples=False,
    formats=frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    patterns="no-lookaround",
    enum_types=_SCALARS,
    most_enum_values=1000,
    long_enum=(250, 15_000),
    needs_items=True,
    needs_properties=True,
    deepest=10,
    most_properties=5000,
    most_characters=120_000,
    tool_names=_WORDS,
    longest_tool_name=64,
    longest_description=1024,
    most_tools=128,
    sources={
        "accepted": _STRUCTURED,
        "others": _STRUCTURED,
        "root_refused": _STRUCTURED,
        "allows_anything": _PYDANTIC_AI,
        "is_all_required": _STRUCTURED,
        "is_closed": _STRUCTURED,
        "allows_maps": _STRUCTURED,
        "allows_tuples": _PYDANTIC_AI,
        "formats": _STRUCTURED,
        "patterns": _PYDANTIC_AI,
        "enum_types": ProfileSource("no example has others; the careful reading", "2026-11-16", is_certain=False),
        "most_enum_values": _STRUCTURED,
        "long_enum": _STRUCTURED,
        "needs_items": _PYDANTIC_AI,
        "needs_properties": _PYDANTIC_AI,
        "deepest": _STRUCTURED,
        "most_properties": _STRUCTURED,
        "most_characters": _STRUCTURED,
        "tool_names": _OPENAI_NAME,
        "longest_tool_name": _OPENAI_NAME,
        "longest_description": _OPENAI_TEXT,
        "most_tools": _OPENAI_COUNT,
    },
)
_ANTHROPIC = Profile(
    name="anthropic",
    title="Anthropic",
    root_refused=_CLAUDE_UNIONS,
    property_names="^[a-zA-Z0-9_.-]{1,64}$",
    are_only_root_names_ruled=True,
    tool_names="^[a-zA-Z0-9_-]{1,128}$",
    longest_tool_name=64,
    sources={
        "root_refused": _CLAUDE_ROOT,
        "property_names": _CLAUDE_KEYS,
        "are_only_root_names_ruled": _CLAUDE_KEYS,
        "draft": _CLAUDE_DRAFT,
        "tool_names": _CLAUDE_NAME,
        "longest_tool_name": _CLAUDE_NAME,
    },
)
_ANTHROPIC_STRICT = Profile(
    name="anthropic-strict",
    title="Anthropic, strict",
    accepted=frozenset(
        [
            "type",
            "description",
            "title",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "const",
            "$ref",
            "$defs",
            "pattern",
            "format",
            "minItems",
            "default",
        ]
    ),
    others="refused",
    root_refused=_ROOT_UNIONS,
    is_recursion_allowed=False,
    allows_anything=False,
    is_closed=True,
    allows_maps=False,
    allows_tuples=False,
    allows_type_lists=False,
    nullable="any-of",
    formats=frozenset(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]),
    patterns="simple",
    highest_min_items=1,
    enum_types=_SCALARS,
    property_names="^[a-zA-Z0-9_.-]{1,64}$",
    needs_items=True,
    most_optional=24,
    most_unions=16,
    tool_names="^[a-zA-Z0-9_-]{1,128}$",
    longest_tool_name=64,
    most_tools=20,
    sources={
        "accepted": _CLAUDE_STRICT,
        "others": _CLAUDE_STRICT,
        "root_refused": _CLAUDE_ROOT,
        "is_recursion_allowed": _CLAUDE_STRICT,
        "allows_anything": _CLAUDE_STRICT,
        "is_closed": _CLAUDE_STRICT,
        "allows_maps": _CLAUDE_STRICT,
        "allows_tuples": _CLAUDE_CAREFUL,
        "allows_type_lists": _CLAUDE_STRICT,
        "nullable": _CLAUDE_STRICT,
        "formats": _CLAUDE_STRICT,
        "patterns": _CLAUDE_STRICT,
        "highest_min_items": _CLAUDE_STRICT,
        "enum_types": _CLAUDE_STRICT,
        "property_names": _CLAUDE_KEYS,
        "needs_items": _CLAUDE_CAREFUL,
        "most_optional": _CLAUDE_LIMITS,
        "most_unions": _CLAUDE_LIMITS,
        "tool_names": _CLAUDE_NAME,
        "longest_tool_name": _CLAUDE_NAME,
        "most_tools": _CLAUDE_LIMITS,
    },
)
_GEMINI = Profile(
    name="gemini",
    title="Gemini, parametersJsonSchema",
    accepted=frozenset(
        [
            "type",
            "format",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "properties",
            "additionalProperties",
            "required",
            "$ref",
            "$defs",
        ]
    ),
    root_refused=_ROOT_UNIONS,
    is_recursion_allowed=False,
    formats=frozenset({"date-time", "enum"}),
    enum_types=frozenset({"string", "integer", "number", "null"}),
    allows_empty_texts=False,
    needs_items=True,
    tool_names="^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$",
    longest_tool_name=64,
    most_tools=512,
    sources={
        "accepted": _GEMINI_JSON,
        "root_refused": ProfileSource(
            "a function's arguments are an object; the careful reading", "2026-11-16", is_certain=False
        ),
        "is_recursion_allowed": _GEMINI_JSON,
        "formats": _GEMINI_FORMATS,
        "enum_types": _GEMINI_JSON,
        "allows_empty_texts": _GEMINI_EMPTY,
        "needs_items": _GEMINI_ITEMS,
        "tool_names": _GEMINI_NAME,
        "longest_tool_name": _GEMINI_NAME,
        "most_tools": _GEMINI_COUNT,
    },
)
_GEMINI_OPENAPI = Profile(
    name="gemini-openapi",
    title="Gemini, parameters",
    accepted=frozenset(
        [
            "type",
            "format",
            "title",
            "description",
            "nullable",
            "enum",
            "items",
            "minItems",
            "maxItems",
            "properties",
            "required",
            "minProperties",
            "maxProperties",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "pattern",
            "example",
            "anyOf",
            "propertyOrdering",
            "default",
        ]
    ),
    others="refused",
    root_refused=_ROOT_UNIONS,
    refs="resolved",
    is_recursion_allowed=False,
    allows_anything=False,
    allows_maps=False,
    allows_tuples=False,
    allows_type_lists=False,
    nullable="nullable",
    formats=frozenset({"date-time", "enum"}),
    enum_types=frozenset({"string"}),
    allows_empty_texts=False,
    property_names="^[a-zA-Z_][a-zA-Z0-9_]{0,63}$",
    needs_items=True,
    needs_properties=True,
    tool_names="^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$",
    longest_tool_name=64,
    most_tools=512,
    sources={
        "accepted": _GEMINI_PROTO,
        "others": _GEMINI_REFUSED,
        "root_refused": _GEMINI_PROTO,
        "refs": _GEMINI_REFUSED,
        "is_recursion_allowed": _GEMINI_REFUSED,
        "allows_anything": ProfileSource(
            "a schema without a type says nothing to this API; the careful reading", "2026-11-16", False
        ),
        "allows_maps": _GEMINI_REFUSED,
        "allows_tuples": _GEMINI_REFUSED,
        "allows_type_lists": _GEMINI_PROTO,
        "nullable": _GEMINI_PROTO,
        "formats": _GEMINI_FORMATS,
        "enum_types": _GEMINI_ENUM,
        "allows_empty_texts": _GEMINI_EMPTY,
        "property_names": _GEMINI_PROTO,
        "needs_items": _GEMINI_ITEMS,
        "needs_properties": _GEMINI_PROTO,
        "tool_names": _GEMINI_NAME,
        "longest_tool_name": _GEMINI_NAME,
        "most_tools": _GEMINI_COUNT,
    },
)
_MISTRAL_PROFILE = Profile(
    name="mistral",
    title="Mistral",
    root_refused=_ROOT_UNIONS,
    draft=7,
    tool_names=_WORDS,
    longest_tool_name=64,
    sources={
        "root_refused": ProfileSource(
            "its check allows them; nothing says that its models follow them", "2026-11-16", is_certain=False
        ),
        "draft": _MISTRAL,
        "tool_names": _MISTRAL,
        "longest_tool_name": _MISTRAL,
    },
)
_OLLAMA_PROFILE = Profile(
    name="ollama",
    title="Ollama",
    accepted=frozenset(["type", "description", "enum", "items", "properties", "required", "anyOf"]),
    root_refused=_ROOT_UNIONS,
    refs="resolved",
    is_recursion_allowed=False,
    allows_tuples=False,
    tool_names=_WORDS,
    longest_tool_name=64,
    sources={
        "accepted": _OLLAMA,
        "root_refused": _OLLAMA,
        "refs": _OLLAMA,
        "is_recursion_allowed": _OLLAMA,
        "allows_tuples": _OLLAMA,
        "tool_names": ProfileSource(
            "no rule is known; names that every other provider takes", "2026-11-16", is_certain=False
        ),
        "longest_tool_name": ProfileSource(
            "no rule is known; names that every other provider takes", "2026-11-16", is_certain=False
        ),
    },
)
_BEDROCK_PROFILE = Profile(
    name="bedrock",
    title="Amazon Bedrock, Converse",
    root_refused=_CLAUDE_UNIONS,
    property_names="^[a-zA-Z0-9_.-]{1,64}$",
    are_only_root_names_ruled=True,
    tool_names=_WORDS,
    longest_tool_name=64,
    sources={
        "root_refused": _BEDROCK_MODEL,
        "property_names": _BEDROCK_MODEL,
        "are_only_root_names_ruled": _BEDROCK_MODEL,
        "draft": _BEDROCK_MODEL,
        "tool_names": _BEDROCK,
        "longest_tool_name": _BEDROCK,
    },
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _OPENAI,
            _OPENAI_STRICT,
            _ANTHROPIC,
            _ANTHROPIC_STRICT,
            _GEMINI,
            _GEMINI_OPENAPI,
            _MISTRAL_PROFILE,
            _OLLAMA_PROFILE,
            _BEDROCK_PROFILE,
        )
    }
)
"""The profile of each provider, by its name."""
