"""What AWS says went wrong, and what that means for a call."""

from __future__ import annotations

import pytest

from ferrule.infra.clouds.aws_errors import make_aws_failure, read_aws_error
from ferrule.infra.network.client import Fetched


@pytest.mark.parametrize(
    ("status", "headers", "body", "code", "error_class"),
    [
        (400, {}, b'{"__type":"com.amazonaws.x#ThrottlingException","message":"slow"}', "ThrottlingException", "rate_limited"),
        (400, {"x-amzn-errortype": "ValidationException:http://x/"}, b"{}", "ValidationException", "invalid_arguments"),
        (403, {}, b"<E><Error><Code>AccessDenied</Code></Error></E>", "AccessDenied", "permission_denied"),
        (400, {}, b'{"__type":"ExpiredTokenException"}', "ExpiredTokenException", "credential_missing"),
        (400, {}, b'{"__type":"AWS.SimpleQueueService.Throttling"}', "AWS.SimpleQueueService.Throttling", "rate_limited"),
        (500, {}, b"not json", "http:500", "dependency_unavailable"),
        (404, {}, b'{"__type":"ResourceNotFoundException"}', "ResourceNotFoundException", "execution_failed"),
        (400, {}, b'{"__type":"has blanks and\\nlines"}', "http:400", "invalid_arguments"),
        (503, {}, b"[" * 100_000, "http:503", "dependency_unavailable"),
        (400, {}, b'{"__type": 7, "Error": [], "message": {}}', "http:400", "invalid_arguments"),
    ],
)  # fmt: skip
def test_what_aws_says_went_wrong(
    status: int, headers: dict[str, str], body: bytes, code: str, error_class: str
) -> None:
    fetched = Fetched(status, headers, body)
    assert read_aws_error(fetched).code == code
    assert make_aws_failure("it", fetched).error_class == error_class
