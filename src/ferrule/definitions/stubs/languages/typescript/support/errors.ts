/** What can go wrong with a call: a class of error for each class there is. */

/** What is known of a failure. */
export interface Failure {
  /** The class of the error; empty where the request itself was refused. */
  readonly errorClass: string;
  /** A finer name. New ones may appear. */
  readonly code: string;
  readonly message: string;
  /** Of the call; empty where none was made. */
  readonly invocationId: string;
  /** Whether the same call may be made again, without harm and with hope. */
  readonly isRetryable: boolean;
  /** When to try again, where that is known. */
  readonly retryAfterSeconds: number | null;
  /** What the failed call might do about it: `retry`, `change_arguments`, … */
  readonly recoverability: string;
}

/** The base of all errors of this client. */
export class FerruleError extends Error implements Failure {
  override readonly name: string = "FerruleError";
  readonly errorClass: string;
  readonly code: string;
  readonly invocationId: string;
  readonly isRetryable: boolean;
  readonly retryAfterSeconds: number | null;
  readonly recoverability: string;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.errorClass = failure.errorClass;
    this.code = failure.code;
    this.invocationId = failure.invocationId;
    this.isRetryable = failure.isRetryable;
    this.retryAfterSeconds = failure.retryAfterSeconds;
    this.recoverability = failure.recoverability;
  }
}

/** The server could not be reached, or its answer broke off. */
export class ConnectionError extends FerruleError {
  override readonly name = "ConnectionError";
}

/** The server refused the request itself: no token, too many requests, … */
export class RequestError extends FerruleError {
  override readonly name = "RequestError";
}

/** The result is not what the tool's definition promised. */
export class UnexpectedResultError extends FerruleError {
  override readonly name = "UnexpectedResultError";
}

/** The call waits for a person; ask for its result later. */
export class PendingError extends FerruleError {
  override readonly name = "PendingError";
  /** `awaiting_approval`, … */
  readonly state: string;
  /** When nobody may answer any more; empty where there is no end. */
  readonly expiresAt: string;

  constructor(failure: Failure, state: string, expiresAt: string) {
    super(failure);
    this.state = state;
    this.expiresAt = expiresAt;
  }
}

/** There is no such tool for this caller. */
export class UnknownToolError extends FerruleError {
  override readonly name = "UnknownToolError";
}

/** The tool's schema has to be loaded first. */
export class SchemaNotLoadedError extends FerruleError {
  override readonly name = "SchemaNotLoadedError";
}

/** The arguments do not fit the tool's schema. */
export class SchemaValidationFailedError extends FerruleError {
  override readonly name = "SchemaValidationFailedError";
}

/** The arguments fit the schema and still cannot be used. */
export class InvalidArgumentsError extends FerruleError {
  override readonly name = "InvalidArgumentsError";
}

/** Something has to be set up first. */
export class SetupRequiredError extends FerruleError {
  override readonly name = "SetupRequiredError";
}

/** A credential is missing. */
export class CredentialMissingError extends FerruleError {
  override readonly name = "CredentialMissingError";
}

/** The tool cannot do this here. */
export class CapabilityGapError extends FerruleError {
  override readonly name = "CapabilityGapError";
}

/** The tool tried what its sandbox forbids. */
export class SandboxViolationError extends FerruleError {
  override readonly name = "SandboxViolationError";
}

/** A hook stopped the call. */
export class HookBlockedError extends FerruleError {
  override readonly name = "HookBlockedError";
}

/** The policy denies the call. */
export class PermissionDeniedError extends FerruleError {
  override readonly name = "PermissionDeniedError";
}

/** A person said no. */
export class ApprovalRejectedError extends FerruleError {
  override readonly name = "ApprovalRejectedError";
}

/** The call is blocked whatever its arguments. */
export class PolicyBlockedError extends FerruleError {
  override readonly name = "PolicyBlockedError";
}

/** The call was canceled. */
export class CanceledError extends FerruleError {
  override readonly name = "CanceledError";
}

/** Another call of the batch ended this one. */
export class SiblingCanceledError extends FerruleError {
  override readonly name = "SiblingCanceledError";
}

/** The result was discarded for another. */
export class StreamingFallbackDiscardedError extends FerruleError {
  override readonly name = "StreamingFallbackDiscardedError";
}

/** The call took too long. */
export class TimeoutError extends FerruleError {
  override readonly name = "TimeoutError";
}

/** There were too many calls; see `retryAfterSeconds`. */
export class RateLimitedError extends FerruleError {
  override readonly name = "RateLimitedError";
}

/** Something that the tool needs is not there. */
export class DependencyUnavailableError extends FerruleError {
  override readonly name = "DependencyUnavailableError";
}

/** The tool ran and failed. */
export class ExecutionFailedError extends FerruleError {
  override readonly name = "ExecutionFailedError";
}

/** The tool did some of its work. */
export class PartialFailureError extends FerruleError {
  override readonly name = "PartialFailureError";
}

/** The result is too large to be given. */
export class ResultTooLargeError extends FerruleError {
  override readonly name = "ResultTooLargeError";
}

/** The result may not be shown. */
export class ResultRedactedError extends FerruleError {
  override readonly name = "ResultRedactedError";
}

/** The classes of errors by the names they have on the wire. */
export const ERROR_CLASSES = {
  unknown_tool: UnknownToolError,
  schema_not_loaded: SchemaNotLoadedError,
  schema_validation_failed: SchemaValidationFailedError,
  invalid_arguments: InvalidArgumentsError,
  setup_required: SetupRequiredError,
  credential_missing: CredentialMissingError,
  capability_gap: CapabilityGapError,
  sandbox_violation: SandboxViolationError,
  hook_blocked: HookBlockedError,
  permission_denied: PermissionDeniedError,
  approval_rejected: ApprovalRejectedError,
  policy_blocked: PolicyBlockedError,
  canceled: CanceledError,
  sibling_canceled: SiblingCanceledError,
  streaming_fallback_discarded: StreamingFallbackDiscardedError,
  timeout: TimeoutError,
  rate_limited: RateLimitedError,
  dependency_unavailable: DependencyUnavailableError,
  execution_failed: ExecutionFailedError,
  partial_failure: PartialFailureError,
  result_too_large: ResultTooLargeError,
  result_redacted: ResultRedactedError,
} as const;

/** The error of a failure. One of an unknown class is a `FerruleError`. */
export function errorOf(failure: Failure): FerruleError {
  const known: { [name: string]: new (failure: Failure) => FerruleError } =
    ERROR_CLASSES;
  const Found = Object.hasOwn(known, failure.errorClass)
    ? known[failure.errorClass]
    : undefined;
  return new (Found ?? FerruleError)(failure);
}
