"""Settings of OAuth providers, and what a caller is told of a challenge."""

from __future__ import annotations

import msgspec
import pytest

from ferrule.infra.credentials.oauth_records import Challenge, OAuthProvider


def test_a_setting_that_is_misspelt_or_of_another_kind_is_refused() -> None:
    written = {"client_id": "x", "issuer": "https://id.example.com", "scopes": ["read"]}
    assert msgspec.convert(written, OAuthProvider).scopes == ("read",)
    for wrong in ({"isuer": "https://id.example.com"}, {"token_auth": "guess"}, {"scopes": "read"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(written | wrong, OAuthProvider)
    with pytest.raises(msgspec.ValidationError, match="client_id"):
        msgspec.convert({}, OAuthProvider)


def test_a_caller_is_told_where_to_go_and_not_the_state_by_itself() -> None:
    """OXP-41."""
    challenge = Challenge(id="acme", url="https://id.example.com/a", state="s" * 43, expires_at=1.0)
    assert challenge.to_record() == {"id": "acme", "url": "https://id.example.com/a"}
