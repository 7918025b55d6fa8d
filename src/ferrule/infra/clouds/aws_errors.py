"""Errors of AWS and their meaning for a call: one table of its codes."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import REFUSED, Meaning, classify_status, read_json_object, status_failure
from ferrule.infra.network.client import Fetched
from ferrule.model.failure import ErrorClass, excerpt

_REFUSED = (
    "AuthFailure ExpiredToken ExpiredTokenException IncompleteSignature IncompleteSignatureException InvalidAccessKeyId"
    " InvalidClientTokenId InvalidSignatureException InvalidToken MissingAuthenticationToken"
    " MissingAuthenticationTokenException NotAuthorized RequestExpired SignatureDoesNotMatch TokenRefreshRequired"
    " UnrecognizedClientException"
)
_DENIED = (
    "AccessDenied AccessDeniedException ForbiddenException KMSAccessDeniedException KmsAccessDenied OptInRequired"
    " UnauthorizedOperation"
)
_THROTTLED = (
    "BandwidthLimitExceeded EC2ThrottledException KmsThrottled LimitExceededException OverLimit PriorRequestNotComplete"
    " ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled RequestThrottledException SlowDown"
    " Throttling ThrottledException ThrottlingException TooManyRequestsException"
)
_DOWN = (
    "EC2UnexpectedException EFSMountConnectivityException ENILimitReachedException InternalError InternalFailure"
    " InternalServerError InternalServerErrorException InternalServiceError InternalServiceErrorException"
    " ResourceNotReadyException ServiceException ServiceUnavailable ServiceUnavailableError ServiceUnavailableException"
    " TransactionInProgressException DatabaseResumingException DatabaseUnavailableException"
)
_SLOW = "RequestTimeout RequestTimeoutException StatementTimeoutException EFSMountTimeoutException"
_BAD_INPUT = (
    "BadRequestException InvalidMessageContents InvalidParameter InvalidParameterException InvalidParameterValue"
    " InvalidParameterValueException InvalidRequestContentException InvalidRequestException MalformedQueryString"
    " MissingParameter RequestEntityTooLargeException RequestTooLargeException SerializationException"
    " UnsupportedMediaTypeException ValidationError ValidationException"
)
CLASSES: dict[str, Meaning] = {
    **dict.fromkeys(_REFUSED.split(), REFUSED),
    **dict.fromkeys(_DENIED.split(), ("permission_denied", "upstream_denied")),
    **dict.fromkeys(_THROTTLED.split(), ("rate_limited", None)),
    **dict.fromkeys(_DOWN.split(), ("dependency_unavailable", None)),
    **dict.fromkeys(_SLOW.split(), ("timeout", None)),
    **dict.fromkeys(_BAD_INPUT.split(), ("invalid_arguments", None)),
}
"""The error class by AWS's own code, and our code where it has one. Codes that are not here go by the status."""

_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_LONGEST = 500


class AwsError(NamedTuple):
    """An error as AWS reported it."""

    code: str
    """AWS's own code, such as `ThrottlingException`; `http:500` when it gave none."""
    message: str
    """AWS's own text, cut: it may name accounts and roles, so it belongs in an error's output, not in its message."""
    request_id: str


def read_aws_error(fetched: Fetched) -> AwsError:
    """Returns the error of a failing answer, from its headers, its JSON or its XML."""
    said = read_json_object(fetched.body)
    text = "" if said else fetched.body[:65_536].decode("utf-8", "replace")
    error = said.get("Error") if isinstance(said.get("Error"), dict) else said
    code = fetched.headers.get("x-amzn-errortype") or _text(error, "__type", "code", "Code") or _element(text, "Code")
    code = code.partition(":")[0].rpartition("#")[2].strip()
    message = _text(error, "message", "Message", "errorMessage") or _element(text, "Message")
    request_id = (
        fetched.headers.get("x-amzn-requestid")
        or fetched.headers.get("x-amz-request-id")
        or _text(said, "RequestId")
        or _element(text, "RequestId")
    )
    return AwsError(
        code if _PLAIN.fullmatch(code) else f"http:{fetched.status}",
        excerpt(message, _LONGEST),
        request_id if _PLAIN.fullmatch(request_id) else "",
    )


def make_aws_failure(what: str, fetched: Fetched) -> ExecutionFailed:
    """Makes the failure of a call from a failing answer. `what` opens the message: "the function 'refund'"."""
    said = read_aws_error(fetched)
    short = said.code.rpartition(".")[2]
    meaning = CLASSES.get(said.code) or CLASSES.get(short) or classify_status(fetched.status)
    request = f" (request {said.request_id})" if said.request_id else ""
    return status_failure(
        f"{what}: AWS answered {said.code}{request}{_advice(meaning[0])}",
        fetched,
        meaning=meaning,
        reference=said.code if said.code.startswith("http:") else f"aws:{said.code}",
    )


def _advice(error_class: ErrorClass) -> str:
    match error_class:
        case "credential_missing":
            return "; its keys are not accepted: renew them"
        case "permission_denied":
            return "; the identity used may not do that: its policy has to allow it"
        case _:
            return ""


def _text(record: Any, *names: str) -> str:
    return next((record[name] for name in names if isinstance(record.get(name), str)), "")


def _element(text: str, name: str) -> str:
    found = re.search(rf"<{name}>([^<]*)</{name}>", text)
    return found[1] if found else ""
