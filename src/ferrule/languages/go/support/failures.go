package support

import (
	"encoding/json"
	"time"
)

// CallError is a call that did not succeed. Each class of errors has a type of its own below; errors.As finds either.
type CallError struct {
	// Class is one of the classes of errors: permission_denied. It is empty where the request itself was refused.
	Class string
	// Code says more exactly what happened.
	Code    string
	Message string
	// InvocationID is empty where no call was begun.
	InvocationID string
	// Status is that of the answer over HTTP.
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

// Unwrap gives what ended the call on this side: context.Canceled or context.DeadlineExceeded.
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

// callState is what Ferrule tells of a call, or of a request that it refuses.
type callState struct {
	InvocationID string      `json:"invocation_id"`
	State        string      `json:"state"`
	IsPending    bool        `json:"is_pending"`
	Message      string      `json:"message"`
	ExpiresAt    *time.Time  `json:"expires_at"`
	Result       *callResult `json:"result"`
	Code         string      `json:"code"`
	Detail       string      `json:"detail"`
	ErrorClass   string      `json:"error_class"`
}

type callResult struct {
	IsError           bool            `json:"is_error"`
	StructuredContent json.RawMessage `json:"structured_content"`
	Content           []callContent   `json:"content"`
	Error             *callFailure    `json:"error"`
}

type callContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type callFailure struct {
	ErrorClass     string `json:"error_class"`
	ErrorCode      string `json:"error_code"`
	Message        string `json:"message"`
	Recoverability string `json:"recoverability"`
	Retry          struct {
		RetrySafe  bool     `json:"retry_safe"`
		RetryAfter *float64 `json:"retry_after"`
	} `json:"retry"`
	RetryAfter *float64 `json:"retry_after"`
}

// failure gives the error of a call that ended without success, and nil for any other.
func (s *callState) failure(status int) error {
	base := CallError{Class: s.ErrorClass, Code: s.Code, Message: s.Detail, InvocationID: s.InvocationID, Status: status}
	if s.Result != nil && s.Result.Error != nil {
		s.Result.Error.fill(&base)
		return classified(base)
	}
	if s.Result != nil && s.Result.IsError {
		base.Message = s.Result.text()
		return classified(base)
	}
	if status >= 400 {
		return classified(base)
	}
	return nil
}

func (f *callFailure) fill(base *CallError) {
	base.Class, base.Code, base.Message = f.ErrorClass, f.ErrorCode, f.Message
	base.Recoverability, base.IsRetrySafe = f.Recoverability, f.Retry.RetrySafe
	for _, seconds := range []*float64{f.Retry.RetryAfter, f.RetryAfter} {
		if seconds != nil {
			base.RetryAfter = time.Duration(*seconds * float64(time.Second))
		}
	}
}

func (r *callResult) text() string {
	text := ""
	for _, each := range r.Content {
		text += each.Text
	}
	return text
}

// value gives the result as JSON.
func (r *callResult) value() []byte {
	if len(r.StructuredContent) > 0 && string(r.StructuredContent) != "null" {
		return r.StructuredContent
	}
	text := []byte(r.text())
	if json.Valid(text) {
		return text
	}
	made, _ := json.Marshal(string(text))
	return made
}
