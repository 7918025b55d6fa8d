//! What can go wrong with a call, one variant for each error class of Ferrule.

use std::fmt;

use serde_json::Value;

use super::schema::Mismatch;

/// What Ferrule says of a call that did not succeed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// The error class: `permission_denied`. There may be new ones.
    pub class: String,
    /// The finer code; often the class.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// The call, where it became one.
    pub invocation_id: Option<String>,
    /// What can be done: `retry`, `change_arguments`, ….
    pub recoverability: String,
    /// Whether the same call may be made again without harm.
    pub is_retry_safe: bool,
    /// How many seconds to wait before that.
    pub retry_after: Option<f64>,
    /// The status of the HTTP answer; 0 where there was none.
    pub status: u16,
}

/// A call that waits: for a person to allow it, or for an answer to what the tool asks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pending {
    /// The call: `Client::resume` takes it.
    pub invocation_id: String,
    /// What it waits for: `awaiting_approval`.
    pub state: String,
    /// The same for people.
    pub message: String,
    /// Until when it waits.
    pub expires_at: Option<String>,
}

macro_rules! call_errors {
    ($($(#[$about:meta])* $variant:ident = $class:literal),* $(,)?) => {
        /// Why there is no result.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum CallError {
            $($(#[$about])* $variant(Box<Failure>),)*
            /// An error class that was not known when this was written.
            Other(Box<Failure>),
            /// The request was refused before it became a call: no token, a bad request, an
            /// overloaded server. Its class is empty.
            Refused(Box<Failure>),
            /// The call waits and has no result yet.
            Pending(Pending),
            /// The server could not be reached, or the connection broke.
            Connection(String),
            /// The arguments cannot be written as JSON, so nothing was called.
            Input(Mismatch),
            /// The server's answer is not what it must be.
            Answer(Mismatch),
        }

        impl CallError {
            /// The error of a failure, by its class.
            pub fn of(failure: Failure) -> Self {
                let failure = Box::new(failure);
                match failure.class.as_str() {
                    $($class => CallError::$variant(failure),)*
                    "" => CallError::Refused(failure),
                    _ => CallError::Other(failure),
                }
            }

            /// What Ferrule said, where it said something.
            pub fn failure(&self) -> Option<&Failure> {
                match self {
                    $(CallError::$variant(failure))|* => Some(failure),
                    CallError::Other(failure) | CallError::Refused(failure) => Some(failure),
                    _ => None,
                }
            }
        }
    };
}

call_errors! {
    /// There is no such tool, or none for this caller.
    UnknownTool = "unknown_tool",
    /// The tool's schema has to be loaded first.
    SchemaNotLoaded = "schema_not_loaded",
    /// The arguments do not fit the schema.
    SchemaValidationFailed = "schema_validation_failed",
    /// The arguments fit the schema and are wrong all the same.
    InvalidArguments = "invalid_arguments",
    /// Something has to be set up first.
    SetupRequired = "setup_required",
    /// A credential is missing.
    CredentialMissing = "credential_missing",
    /// Nothing here can run the tool.
    CapabilityGap = "capability_gap",
    /// The tool reached for what it may not touch.
    SandboxViolation = "sandbox_violation",
    /// A hook stopped the call.
    HookBlocked = "hook_blocked",
    /// A rule denies the call.
    PermissionDenied = "permission_denied",
    /// A person said no.
    ApprovalRejected = "approval_rejected",
    /// A policy stopped the call.
    PolicyBlocked = "policy_blocked",
    /// The call was canceled.
    Canceled = "canceled",
    /// Another call of the same batch failed.
    SiblingCanceled = "sibling_canceled",
    /// The result was thrown away.
    StreamingFallbackDiscarded = "streaming_fallback_discarded",
    /// The call took too long.
    Timeout = "timeout",
    /// Too many calls.
    RateLimited = "rate_limited",
    /// What the tool depends on is not there.
    DependencyUnavailable = "dependency_unavailable",
    /// The tool ran and failed.
    ExecutionFailed = "execution_failed",
    /// Some of it was done.
    PartialFailure = "partial_failure",
    /// The result is too large.
    ResultTooLarge = "result_too_large",
    /// The result may not be shown.
    ResultRedacted = "result_redacted",
}

impl CallError {
    /// The call that it is about, where there was one.
    pub fn invocation_id(&self) -> Option<&str> {
        match self {
            CallError::Pending(pending) => Some(&pending.invocation_id),
            other => other.failure()?.invocation_id.as_deref(),
        }
    }

    /// Whether the same call may be made again without harm.
    pub fn is_retry_safe(&self) -> bool {
        self.failure()
            .map_or(false, |failure| failure.is_retry_safe)
    }

    /// The error of an answer that is no success: a problem, or the result of a call.
    pub(crate) fn told(status: u16, answer: &Value) -> Self {
        let error = &answer["result"]["error"];
        let text = |value: &Value| value.as_str().unwrap_or("").to_string();
        let either = |first: &Value, second: &Value| match first {
            Value::String(words) => words.clone(),
            _ => text(second),
        };
        let invocation = either(&answer["invocation_id"], &answer["result"]["invocation_id"]);
        CallError::of(Failure {
            class: either(&error["error_class"], &answer["error_class"]),
            code: either(&error["error_code"], &answer["code"]),
            message: either(&error["message"], &answer["detail"]),
            invocation_id: Some(invocation).filter(|id| !id.is_empty()),
            recoverability: text(&error["recoverability"]),
            is_retry_safe: error["retry"]["retry_safe"].as_bool().unwrap_or(false),
            retry_after: error["retry_after"].as_f64(),
            status,
        })
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Pending(pending) => {
                let (id, state) = (&pending.invocation_id, &pending.state);
                write!(
                    to,
                    "the call {} has not ended ({}): {}",
                    id, state, pending.message
                )
            }
            CallError::Connection(message) => write!(to, "no answer: {}", message),
            CallError::Input(mismatch) => write!(to, "arguments that cannot be: {}", mismatch),
            CallError::Answer(mismatch) => write!(to, "an answer that cannot be: {}", mismatch),
            other => match other.failure() {
                Some(failure) => write!(to, "{}: {}", failure.code, failure.message),
                None => Ok(()),
            },
        }
    }
}

impl std::error::Error for CallError {}

impl From<Mismatch> for CallError {
    fn from(mismatch: Mismatch) -> Self {
        CallError::Answer(mismatch)
    }
}
