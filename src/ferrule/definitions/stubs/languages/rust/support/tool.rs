//! What a tool is: its description, what it is given when it runs, and how it fails.
//!
//! Handlers are plain functions. The standard library has no executor for `async` ones, so each
//! call has a thread to itself and may block in it; `Context` says when it has to end.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Value};

use super::schema::{plain, Document};

/// What a tool is called and takes.
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// What callers call it by.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does, for a model to read.
    pub description: &'static str,
    /// Words to find it by.
    pub tags: &'static [&'static str],
    /// The schema of its arguments.
    pub input: &'static Document,
    /// The schema of its result, if it has one.
    pub output: Option<&'static Document>,
    /// Whether a model is held to the schema while it writes the arguments.
    pub strict: bool,
}

impl Descriptor {
    /// As the Model Context Protocol lists it: JSON on one line, with the schemas as they are
    /// written.
    pub fn listed(&self) -> String {
        let mut members = vec![
            format!("\"name\":{}", json!(self.name)),
            format!("\"title\":{}", json!(self.title)),
            format!("\"description\":{}", json!(self.description)),
            format!("\"inputSchema\":{}", self.input.line()),
        ];
        // The protocol takes schemas of objects alone here.
        if let Some(schema) = self.output.filter(|schema| schema.is_of_objects()) {
            members.push(format!("\"outputSchema\":{}", schema.line()));
        }
        format!("{{{}}}", members.join(","))
    }
}

/// Why a tool did not do what it was asked to. Any error becomes one with `?`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    /// What happened and what to do about it: models read it.
    pub message: String,
}

impl ToolError {
    /// A failure.
    pub fn new(message: impl Into<String>) -> Self {
        ToolError {
            message: message.into(),
        }
    }

    /// For a body that nobody has written yet.
    pub fn not_implemented(tool: &str) -> Self {
        ToolError::new(format!("the tool {:?} is not implemented yet", tool))
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        ToolError::new(error.to_string())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.message)
    }
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Rises from call to call.
    pub done: f64,
    /// What `done` will be in the end, if that is known.
    pub total: Option<f64>,
    /// What is being done, or empty.
    pub message: String,
}

type Listener = dyn Fn(Progress) + Send + Sync;

/// What a running call is given. Clones are of the same call.
#[derive(Clone)]
pub struct Context {
    state: Arc<State>,
}

struct State {
    is_cancelled: Mutex<bool>,
    has_changed: Condvar,
    listener: Box<Listener>,
}

impl Context {
    /// For a call whose progress goes to a listener.
    pub fn new(listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        let listener: Box<Listener> = Box::new(listener);
        let state = State {
            is_cancelled: Mutex::new(false),
            has_changed: Condvar::new(),
            listener,
        };
        Context {
            state: Arc::new(state),
        }
    }

    /// For tests: nobody listens and nobody cancels.
    pub fn detached() -> Self {
        Context::new(|_| {})
    }

    /// Whether the caller has given up; what the tool returns then is thrown away.
    pub fn is_cancelled(&self) -> bool {
        *self
            .state
            .is_cancelled
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// An error where the caller has given up, to leave with `?`.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.is_cancelled() {
            return Err(ToolError::new("the call was cancelled"));
        }
        Ok(())
    }

    /// Waits, and ends early with an error where the caller gives up.
    pub fn sleep(&self, time: Duration) -> Result<(), ToolError> {
        let held = self
            .state
            .is_cancelled
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let changed = self
            .state
            .has_changed
            .wait_timeout_while(held, time, |is_over| !*is_over);
        drop(changed);
        self.check()
    }

    /// Tells the caller how far the call has come.
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        (self.state.listener)(Progress {
            done,
            total,
            message: message.into(),
        });
    }

    /// Tells the call that its caller has given up.
    pub fn cancel(&self) {
        *self
            .state
            .is_cancelled
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = true;
        self.state.has_changed.notify_all();
    }
}

/// Where tools write what they have to say beside their results: lines on standard error.
#[derive(Debug, Clone, Default)]
pub struct Logger {
    _private: (),
}

impl Logger {
    /// For what a person has to know.
    pub fn error(&self, message: impl fmt::Display) {
        eprintln!("error: {}", message);
    }

    /// For what happens.
    pub fn info(&self, message: impl fmt::Display) {
        eprintln!("info: {}", message);
    }
}

type Run = dyn Fn(Value, &Context) -> Result<Value, ToolError> + Send + Sync;

/// A tool that can be called with JSON.
pub struct Tool {
    /// What it is called and takes.
    pub descriptor: Descriptor,
    run: Box<Run>,
}

impl Tool {
    /// A tool of a typed function: arguments are decoded by the schema before it runs, and its
    /// result is checked by the schema afterwards.
    pub fn new<I, O, F>(descriptor: Descriptor, handle: F) -> Self
    where
        I: DeserializeOwned,
        O: Serialize,
        F: Fn(I, &Context) -> Result<O, ToolError> + Send + Sync + 'static,
    {
        let run = move |arguments: Value, context: &Context| {
            let input: I = descriptor.input.typed(arguments)?;
            let output = handle(input, context)?;
            let value = match descriptor.output {
                Some(schema) => schema.value(&output)?,
                None => plain(&output)?,
            };
            Ok(value)
        };
        Tool {
            descriptor,
            run: Box::new(run),
        }
    }

    /// The result of a call.
    pub fn call(&self, arguments: Value, context: &Context) -> Result<Value, ToolError> {
        (self.run)(arguments, context)
    }
}
