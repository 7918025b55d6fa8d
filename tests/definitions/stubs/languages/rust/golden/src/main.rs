//! Serves the tools over standard input and output, as the Model Context Protocol says.

use std::process::ExitCode;

use try_out::tools;
use try_out::tools::support::mcp;

#[tokio::main]
async fn main() -> ExitCode {
    match tools::all() {
        Ok(tools) => {
            mcp::serve(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), tools).await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the tools cannot be made: {}", error.message);
            ExitCode::FAILURE
        }
    }
}
