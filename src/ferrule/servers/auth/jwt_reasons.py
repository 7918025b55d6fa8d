"""What the log says of tokens that cannot be read or do not count: our words, and none of the token's."""

from __future__ import annotations

_REASONS = {
    "ExpiredSignatureError": "it has expired",
    "ImmatureSignatureError": "it does not count yet",
    "InvalidSignatureError": "its signature is not one of the key",
    "InvalidAlgorithmError": "it is signed with an algorithm that is not taken",
    "InvalidAudienceError": "its aud is somebody else",
    "InvalidIssuerError": "its iss is somebody else",
    "InvalidIssuedAtError": "its iat is no time",
    "MissingRequiredClaimError": "it lacks a claim",
    "InvalidTokenError": "it is no JWT, or one that cannot be read here",
}
_OTHERWISE = "it cannot be read"


def reason_of(error: Exception) -> str:
    """Why a token does not count, by what PyJWT raised. Its own texts hold what is in the token, which anybody can write."""
    found = next((_REASONS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _REASONS), _OTHERWISE)
    claim = getattr(error, "claim", None)  # one that we ask for
    return f"{found}: {claim}" if isinstance(claim, str) else found
