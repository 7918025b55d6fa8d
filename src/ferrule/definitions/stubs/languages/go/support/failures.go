package support

import "time"

// CallError is a call that did not succeed. Each class of errors has a type of its own below, and so has what went wrong on the
// way to Ferrule and back; errors.As finds either.
type CallError struct {
	// Class is one of the classes of errors: permission_denied. It is empty where no call of Ferrule has failed.
	Class string
	// Code says more exactly what happened.
	Code    string
	Message string
	// InvocationID is empty where no call was begun, or where nobody knows.
	InvocationID string
	// Status is that of the answer over HTTP; 0 where there was none.
	Status         int
	Recoverability string
	// IsRetrySafe says whether the same call may be made again.
	IsRetrySafe bool
	// RetryAfter says how long to wait before that; 0 where nothing was said.
	RetryAfter time.Duration
	cause      error
}

func (e *CallError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// Unwrap gives what happened on this side: context.Canceled, context.DeadlineExceeded, an error of the network, an InvalidJSON.
func (e *CallError) Unwrap() error {
	return e.cause
}

// As makes errors.As find the CallError within the error of a class.
func (e *CallError) As(target any) bool {
	found, ok := target.(**CallError)
	if ok {
		*found = e
	}
	return ok
}

// PendingError is a call that has not ended: a person has to allow it first, or the tool asks for something.
type PendingError struct {
	InvocationID string
	// State is awaiting_approval and the like.
	State   string
	Message string
	// ExpiresAt is when the wait ends; the zero time where it does not.
	ExpiresAt time.Time
}

func (e *PendingError) Error() string {
	return "the call " + e.InvocationID + " has not ended (" + e.State + "): " + e.Message
}

// ConnectionError is a call whose answer never came, or broke off. Whether it was made nobody knows; an idempotency key makes it
// safe to try again.
type ConnectionError struct{ CallError }

// RequestError is a request that was refused before there was a call: no token, too many requests, or something else answered
// in the place of Ferrule.
type RequestError struct{ CallError }

// InvalidInputError is an input that was not sent, because its own types do not allow what it has.
type InvalidInputError struct{ CallError }

// UnexpectedResultError is a result that is not what the definition of the tool promised.
type UnexpectedResultError struct{ CallError }

// UnknownToolError is of the class unknown_tool.
type UnknownToolError struct{ CallError }

// SchemaNotLoadedError is of the class schema_not_loaded.
type SchemaNotLoadedError struct{ CallError }

// SchemaValidationFailedError is of the class schema_validation_failed.
type SchemaValidationFailedError struct{ CallError }

// InvalidArgumentsError is of the class invalid_arguments.
type InvalidArgumentsError struct{ CallError }

// SetupRequiredError is of the class setup_required.
type SetupRequiredError struct{ CallError }

// CredentialMissingError is of the class credential_missing.
type CredentialMissingError struct{ CallError }

// CapabilityGapError is of the class capability_gap.
type CapabilityGapError struct{ CallError }

// SandboxViolationError is of the class sandbox_violation.
type SandboxViolationError struct{ CallError }

// HookBlockedError is of the class hook_blocked.
type HookBlockedError struct{ CallError }

// PermissionDeniedError is of the class permission_denied.
type PermissionDeniedError struct{ CallError }

// ApprovalRejectedError is of the class approval_rejected.
type ApprovalRejectedError struct{ CallError }

// PolicyBlockedError is of the class policy_blocked.
type PolicyBlockedError struct{ CallError }

// CanceledError is of the class canceled.
type CanceledError struct{ CallError }

// SiblingCanceledError is of the class sibling_canceled.
type SiblingCanceledError struct{ CallError }

// StreamingFallbackDiscardedError is of the class streaming_fallback_discarded.
type StreamingFallbackDiscardedError struct{ CallError }

// TimeoutError is of the class timeout.
type TimeoutError struct{ CallError }

// RateLimitedError is of the class rate_limited.
type RateLimitedError struct{ CallError }

// DependencyUnavailableError is of the class dependency_unavailable.
type DependencyUnavailableError struct{ CallError }

// ExecutionFailedError is of the class execution_failed.
type ExecutionFailedError struct{ CallError }

// PartialFailureError is of the class partial_failure.
type PartialFailureError struct{ CallError }

// ResultTooLargeError is of the class result_too_large.
type ResultTooLargeError struct{ CallError }

// ResultRedactedError is of the class result_redacted.
type ResultRedactedError struct{ CallError }

// classified gives an error the type of its class. A class that is not known here stays a CallError.
func classified(base CallError) error {
	make, found := errorClasses[base.Class]
	if !found {
		return &base
	}
	return make(base)
}

var errorClasses = map[string]func(CallError) error{
	"unknown_tool":                 func(e CallError) error { return &UnknownToolError{e} },
	"schema_not_loaded":            func(e CallError) error { return &SchemaNotLoadedError{e} },
	"schema_validation_failed":     func(e CallError) error { return &SchemaValidationFailedError{e} },
	"invalid_arguments":            func(e CallError) error { return &InvalidArgumentsError{e} },
	"setup_required":               func(e CallError) error { return &SetupRequiredError{e} },
	"credential_missing":           func(e CallError) error { return &CredentialMissingError{e} },
	"capability_gap":               func(e CallError) error { return &CapabilityGapError{e} },
	"sandbox_violation":            func(e CallError) error { return &SandboxViolationError{e} },
	"hook_blocked":                 func(e CallError) error { return &HookBlockedError{e} },
	"permission_denied":            func(e CallError) error { return &PermissionDeniedError{e} },
	"approval_rejected":            func(e CallError) error { return &ApprovalRejectedError{e} },
	"policy_blocked":               func(e CallError) error { return &PolicyBlockedError{e} },
	"canceled":                     func(e CallError) error { return &CanceledError{e} },
	"sibling_canceled":             func(e CallError) error { return &SiblingCanceledError{e} },
	"streaming_fallback_discarded": func(e CallError) error { return &StreamingFallbackDiscardedError{e} },
	"timeout":                      func(e CallError) error { return &TimeoutError{e} },
	"rate_limited":                 func(e CallError) error { return &RateLimitedError{e} },
	"dependency_unavailable":       func(e CallError) error { return &DependencyUnavailableError{e} },
	"execution_failed":             func(e CallError) error { return &ExecutionFailedError{e} },
	"partial_failure":              func(e CallError) error { return &PartialFailureError{e} },
	"result_too_large":             func(e CallError) error { return &ResultTooLargeError{e} },
	"result_redacted":              func(e CallError) error { return &ResultRedactedError{e} },
}
