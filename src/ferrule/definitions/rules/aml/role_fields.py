"""The table of structural rules for AML IAM role files, and the pages of the codes they carry."""

from __future__ import annotations

from ferrule.contracts.expect import filled_string, one_of, sequence
from ferrule.contracts.rule import Required, Row, RuleInfo
from ferrule.definitions.rules.aml.agent_fields import (
    build_identity_rows,
    build_limit_rows,
    build_reference_rows,
    expect_mapping_or_null,
)
from ferrule.model.diagnostic import Severity
from ferrule.model.effective import COLLECTION_ACCESS, KNOWLEDGE_ACCESS, TOOL_ACCESS

CLOUD_IDENTITY = {"aws": "role_arn", "azure": "client_id", "gcp": "service_account"}
"""The key that names the identity to assume, by provider."""


def _build_grant_rows(key: str, words: tuple[str, ...]) -> tuple[Row, ...]:
    entry = f"{key}[]"
    return (
        Row(key, sequence(), "AML-95", hint="list one `- ref: the-name` per grant"),
        *build_reference_rows(entry, "AML-95"),
        Row(f"{entry}.access", one_of(*words), "AML-96"),
    )


def _build_identity_rows(provider: str, key: str) -> tuple[Row, ...]:
    when = ("cloud.provider", frozenset({provider}))
    return (
        Row(f"cloud.{key}", Required(), "AML-98", when=when),
        Row(f"cloud.{key}", filled_string(), "AML-98", when=when),
    )


FIELDS: tuple[Row, ...] = (
    *build_identity_rows("iam_id", "AML-95"),
    *_build_grant_rows("tools", TOOL_ACCESS),
    *build_limit_rows("tools[]", "AML-95"),
    *_build_grant_rows("knowledge_bases", KNOWLEDGE_ACCESS),
    *_build_grant_rows("collections", COLLECTION_ACCESS),
    Row("cloud", expect_mapping_or_null, "AML-98"),
    Row("cloud.provider", Required(), "AML-98"),
    Row("cloud.provider", one_of(*CLOUD_IDENTITY), "AML-98"),
    *(row for provider, key in CLOUD_IDENTITY.items() for row in _build_identity_rows(provider, key)),
)

INFOS = (
    RuleInfo(
        "AML-95",
        "incomplete-role",
        Severity.ERROR,
        "A role file has an identity (`spec_version`, `iam_id`, `version`, `status`), a `meta` block with name, "
        "description and owner, and lists of grants whose tools exist and are not disabled; it is named for its id, "
        "which no other file has.",
        "Why: a grant that names nothing gives nothing, and a role without an owner is reviewed by nobody.\n"
        "Bad:  tools: [send-email]\n"
        "Good: tools: [{ref: send-email, approval_required: true}]",
    ),
    RuleInfo(
        "AML-98",
        "unusable-cloud-identity",
        Severity.ERROR,
        "A role's `cloud` block names a provider (aws, azure or gcp) and the identity to assume there: `role_arn`, "
        "`client_id` or `service_account`.",
        "Why: the runtime cannot take on a role it cannot name.\n"
        "Bad:  cloud: {provider: aws, client_id: 4711}\n"
        'Good: cloud: {provider: aws, role_arn: "arn:aws:iam::123456789012:role/Support"}',
    ),
)
