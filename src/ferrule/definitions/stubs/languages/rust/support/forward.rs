//! Tools that Ferrule runs itself: a call here becomes a call there.

use serde::de::DeserializeOwned;
use serde::Serialize;

use super::client::{CallOptions, CallProgress, Client};
use super::tool::{Context, Descriptor, ToolError};

/// The result of a tool of the Ferrule that `FERRULE_URL` and `FERRULE_TOKEN` name.
pub fn forward<I: Serialize, O: DeserializeOwned>(
    tool: &Descriptor,
    input: &I,
    context: &Context,
) -> Result<O, ToolError> {
    let (asked, told) = (context.clone(), context.clone());
    let mut options = CallOptions::new().on_progress(move |progress: &CallProgress| {
        let done = progress.percent.unwrap_or(0.0);
        told.progress(
            done,
            progress.percent.map(|_| 100.0),
            progress.message.clone(),
        );
    });
    options.is_cancelled = Some(std::sync::Arc::new(move || asked.is_cancelled()));
    Ok(Client::from_env()?.call_tool(tool.name, input, tool.output, &options)?)
}
