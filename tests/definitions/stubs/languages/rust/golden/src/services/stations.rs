//! Who measures.

use std::sync::Arc;

use crate::config::Config;
use crate::tools::support::tool::{Logger, ToolError};

/// What tools can ask of it.
pub trait Stations: Send + Sync {
    // TODO: write the methods that tools need.
}

/// Makes it, once for all tools.
pub fn new_stations(logger: &Logger, config: &Config) -> Result<Arc<dyn Stations>, ToolError> {
    // TODO: make what has to be there, and say why where it cannot be made.
    let _ = (logger, config);
    Ok(Arc::new(StationsImpl))
}

struct StationsImpl;

impl Stations for StationsImpl {}
