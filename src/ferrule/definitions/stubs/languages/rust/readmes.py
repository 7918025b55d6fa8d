"""The README of a project: how it is built, run and called."""

from __future__ import annotations

from ferrule.contracts.language import Plan
from ferrule.definitions.stubs.languages.rust.text import lines

_NEEDED = """It needs serde and serde_json and nothing else. Without a network, Debian's packages have both:

```console
apt-get install librust-serde-dev librust-serde-derive-dev librust-serde-json-dev
mkdir -p .cargo
cat > .cargo/config.toml <<'END'
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
END
cargo build --offline
```
"""


def _titled(plan: Plan, package: str) -> str:
    """The beginning of a README: what the agent or the workspace is called and for."""
    title = " ".join(lines(plan.project.name)) or package
    about = "\n".join(lines(plan.project.description))
    return f"# {title}\n\n{about}\n" if about else f"# {title}\n"


def readme(plan: Plan, package: str) -> str:
    """Of a project that serves tools."""
    return f"""{_titled(plan, package)}
An MCP server over standard input and output. `src/tools/<tool>.rs` is yours to write; what is in
`src/tools/generated` and `src/tools/support` is written again by every run of `ferrule gen rust`.

```console
cargo build --release
cargo test
target/release/{package}
```

{_NEEDED}
Handlers are plain functions, each call on a thread of its own: the standard library has no executor for
`async` functions. A handler that takes long asks `context.is_cancelled()` now and then, or waits with
`context.sleep(…)`, which ends early when the caller gives up.

To let Ferrule run the tools, name the program in the `ferrule.toml` of their workspace:

```toml
{plan.program_settings(package, plan.placed(f"target/release/{package}"))}```
"""


def client_readme(plan: Plan, package: str) -> str:
    """Of a library that calls tools."""
    crate = package.replace("-", "_")
    tool = next((each.stem for each in plan.tools), "tool_name")
    return f"""{_titled(plan, package)}
A typed client of tools that a running Ferrule serves: `src/client` has a method of `Client` for each
tool, and is written again by every run of `ferrule gen rust`.

```rust
use {crate}::client::{tool}::Input;
use {crate}::client::{{CallError, CallOptions, Client}};

fn example(input: &Input) -> Result<(), CallError> {{
    let client = Client::from_env()?;
    let output = client.{tool}(input, &CallOptions::new())?;
    println!("{{:?}}", output);
    Ok(())
}}
```

| variable | what it says |
|---|---|
| `FERRULE_URL` | where the server is; `ferrule serve` is at `http://127.0.0.1:8787` if not told otherwise |
| `FERRULE_TOKEN` | the token to call with |

`Client::new(url, token)` takes both from the program instead. Connections are plain HTTP; for https,
give `Client::with_transport` a `Transport` of your own.

`CallOptions` has a timeout, a token to cancel by, somebody to tell progress to and an idempotency key.
Whoever gives up waiting cancels the call at the server too. Every error class is a variant of
`CallError`; a call that waits for a person is `CallError::Pending`, and `client.resume(…)` asks for its
result later.

{_NEEDED}"""
