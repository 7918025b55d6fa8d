//! What a tool is made of.

use std::{fmt, future::Future, pin::Pin};

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Value};
use tokio::sync::mpsc::UnboundedSender;

use self::values::read;
pub mod mcp;
pub mod values;

/// What a tool is called and takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// JSON Schema, as the definition has it.
    pub input_schema: &'static str,
    /// None where the tool says nothing of its result, or gives no objects.
    pub output_schema: Option<&'static str>,
    pub strict: bool,
}

/// Why a tool did not do what it was asked to. Any error becomes one with `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// What happened and what to do about it: models read it.
    pub message: String,
}

impl ToolError {
    pub fn new(message: impl fmt::Display) -> Self {
        let message = message.to_string();
        ToolError { message }
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        ToolError::new(error)
    }
}

/// The call that a tool answers. A call that its caller gives up is dropped at the next `.await`.
#[derive(Debug, Clone, Default)]
pub struct Context {
    listener: Option<(UnboundedSender<String>, Value)>,
}

impl Context {
    /// Tells the caller how far the call has come. `done` rises from one time to the next.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        if let Some((listener, token)) = &self.listener {
            let mut to = json!({ "progressToken": token, "progress": done, "message": message });
            if let Some(total) = total {
                to["total"] = json!(total);
            }
            let method = "notifications/progress";
            let told = json!({ "jsonrpc": "2.0", "method": method, "params": to });
            let _ = listener.send(told.to_string());
        }
    }
}

/// Writes lines to standard error.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logger;

impl Logger {
    pub fn error(&self, message: impl fmt::Display) {
        eprintln!("error: {message}");
    }

    pub fn info(&self, message: impl fmt::Display) {
        eprintln!("info: {message}");
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

/// A tool that can be called with JSON.
pub struct Tool {
    pub descriptor: Descriptor,
    run: Box<dyn Fn(Value, Context) -> Answer + Send + Sync>,
}

impl Tool {
    /// A tool of a typed function.
    pub fn new<I, O, F, R>(descriptor: Descriptor, handle: F) -> Self
    where
        I: DeserializeOwned,
        O: Serialize,
        F: Fn(I, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let run = move |arguments: Value, context: Context| -> Answer {
            let answer = read(arguments).map(|input| handle(input, context));
            Box::pin(async move { Ok(serde_json::to_value(answer?.await?)?) })
        };
        let run = Box::new(run);
        Tool { descriptor, run }
    }

    /// The result of a call. The future holds nothing of the tool.
    pub fn call(&self, arguments: Value, context: Context) -> Answer {
        (self.run)(arguments, context)
    }
}
