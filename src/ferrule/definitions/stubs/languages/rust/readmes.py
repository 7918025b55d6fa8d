"""The README of a project: how it is built, run and called."""

from __future__ import annotations

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.languages.rust.text import document_lines


def _write_title(plan: StubPlan, package: str) -> str:
    """Returns the beginning of a README: what the agent or the workspace is called and for."""
    title = " ".join(document_lines(plan.project.name)) or package
    about = "\n".join(document_lines(plan.project.description))
    return f"# {title}\n\n{about}\n" if about else f"# {title}\n"


def write_readme(plan: StubPlan, package: str) -> str:
    """Writes the README of a project that serves tools."""
    return f"""{_write_title(plan, package)}
An MCP server over standard input and output. `src/tools/<tool>.rs` is yours to write; what is in
`src/tools/generated` and `src/tools/support` is written again by every run of `ferrule gen rust`.

```console
cargo build --release
cargo test
target/release/{package}
```

Handlers are async functions on tokio. A call that its caller gives up is dropped at its next `.await`;
work that blocks belongs into `tokio::task::spawn_blocking`. The types say the shape of what comes in;
Ferrule checks it by its schema before it calls.

To let Ferrule run the tools, name the program in the `ferrule.toml` of their workspace:

```toml
{plan.program_settings(package, plan.workspace_path(f"target/release/{package}"))}```
"""


def write_client_readme(plan: StubPlan, package: str) -> str:
    """Writes the README of a library that calls tools."""
    crate = package.replace("-", "_")
    tool = next(iter(plan.tools), None)
    stem, kind = (tool.stem, tool.input.root.name) if tool is not None else ("tool_name", "ToolNameInput")
    return f"""{_write_title(plan, package)}
A typed client of tools that a running Ferrule serves: `src/client` has a method of `Client` for each
tool, and is written again by every run of `ferrule gen rust`.

```rust
use {crate}::client::{stem}::{kind};
use {crate}::client::{{CallError, CallOptions, Client}};

async fn example(input: &{kind}) -> Result<(), CallError> {{
    let client = Client::from_env()?;
    let output = client.{stem}(input, &CallOptions::default()).await?;
    println!("{{:?}}", output);
    Ok(())
}}
```

| variable | what it says |
|---|---|
| `FERRULE_URL` | where the server is; `ferrule serve` is at `http://127.0.0.1:8787` if not told otherwise |
| `FERRULE_TOKEN` | the token to call with |

`Client::new(url, token)` takes both from the program instead. A token goes over https, or over http to
this machine; `Client::new` refuses any other address.

`CallOptions` has an idempotency key, somebody to tell progress to, and whether to wait for a person's
approval. Whoever drops a call, as `tokio::time::timeout` does, cancels it at the server too. A call that
failed is `CallError::Failed` with its `ErrorClass`; a call that waits for a person is
`CallError::Pending`, and `client.resume(…)` asks for its result later.
"""
