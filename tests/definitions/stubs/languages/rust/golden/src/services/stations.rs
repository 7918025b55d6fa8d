//! Who measures.

use std::sync::Arc;

use crate::config::Config;
use crate::tools::support::{Logger, ToolError};

/// What tools can ask of it.
pub trait Stations: Send + Sync {
    // TODO: write the methods that tools need; the crate async-trait lets them be async.
}

/// Makes it, once for all tools.
pub fn new_stations(logger: Logger, config: Arc<Config>) -> Result<Arc<dyn Stations>, ToolError> {
    // TODO: make what has to be there, and say why where it cannot be made.
    let _ = (logger, config);
    Ok(Arc::new(StationsImpl))
}

struct StationsImpl;

impl Stations for StationsImpl {}
