"""Schema keywords AML does not document."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.interface import list_keywords, list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.schema.inlining import REFUSED_BY_AML

DOCUMENTED = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "minLength",
     "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const",
     "default", "description", "oneOf", "anyOf", "allOf", "contentEncoding", "contentMediaType"}
)  # fmt: skip
_DRAFT_07 = frozenset(
    {"not", "if", "then", "else", "patternProperties", "uniqueItems", "multipleOf", "dependencies", "contains",
     "propertyNames", "title", "examples", "$schema", "$comment", "additionalItems", "minProperties",
     "maxProperties", "readOnly", "writeOnly"}
)  # fmt: skip
_ELSEWHERE = REFUSED_BY_AML | {"sensitive"}
_KNOWN = DOCUMENTED | _ELSEWHERE
_SAY_IT = "remove it, and say in `description` what the model needs to know"
_HINTS = {
    "$schema": "remove it; AML's schemas are draft-07",
    "$comment": "remove it, or write a YAML comment",
    "title": "say it in `description`",
    "nullable": 'write the type as a list: `type: [string, "null"]`',
    "example": "say it in `description`",
}


class KeywordOutsideSubset(Rule):
    """Interface schemas use the keywords AML documents.

    Why: other keywords may be ignored by platforms, and a misspelt one checks nothing.
    Bad:  uniqueItems: true
    Good: description: "Addresses, each only once."
    """

    code = "AML-28"
    name = "keyword-outside-subset"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each keyword outside the subset."""
        if list_keywords(subject) <= _KNOWN:
            return
        for path, schema, _ in list_schemas(subject):
            if schema.keys() <= _KNOWN:
                continue
            for keyword in schema:
                if keyword in _KNOWN:
                    continue
                if keyword in _DRAFT_07:
                    message, hint = f"`{keyword}` is outside AML's subset of JSON Schema", _HINTS.get(keyword, _SAY_IT)
                else:
                    message = f"`{keyword}` is no keyword of AML's JSON Schema"
                    hint = _HINTS.get(keyword) or nearest(keyword, DOCUMENTED) or _SAY_IT
                yield Finding(self.code, (*path, keyword), message, Severity.WARNING, hint, on_key=True)
