//! Get weather

use std::sync::Arc;

use super::generated::get_weather as generated;
use super::support::{Context, Descriptor, Logger, ToolError};

/// What the tool is called and takes.
pub fn descriptor() -> Descriptor {
    generated::descriptor()
}

/// Tells the weather.
/// Now, not tomorrow.
pub async fn handle(
    input: generated::GetWeatherInput,
    context: Context,
    logger: Logger,
    limits_config: crate::config::LimitsConfig,
    stations: Arc<dyn crate::services::stations::Stations>,
) -> Result<generated::GetWeatherOutput, ToolError> {
    // TODO: write the tool. What it does not use yet stands here.
    let _ = input;
    let _ = context;
    let _ = logger;
    let _ = limits_config;
    let _ = stations;
    Err(ToolError::new("not implemented yet"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    #[ignore = "write arguments that the tool takes, and what it has to give for them"]
    async fn gives_what_it_has_to() -> Result<(), ToolError> {
        let tools = super::super::all()?;
        let tool = tools.iter().find(|tool| tool.descriptor == descriptor());
        let tool = tool.expect("the tool is registered");
        let output = tool.call(json!({}), Context::default()).await?;
        assert_eq!(output, json!("what it has to give"));
        Ok(())
    }
}
