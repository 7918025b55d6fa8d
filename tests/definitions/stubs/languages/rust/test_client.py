"""Client stubs call a real Ferrule: typed results, typed refusals, cancellation, progress, one call for one key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ferrule.contracts.language import Plan
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from tests.definitions.stubs.languages.live import TOOLS, live
from tests.definitions.stubs.languages.rust.crates import Given, built, library, planned, talked, well_formed

_MAIN = """
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use CRATE::client::live_count::LiveCountInput;
use CRATE::client::live_forbidden::LiveForbiddenInput;
use CRATE::client::live_greet::{LiveGreetInput, LiveGreetOutput};
use CRATE::client::{live_ask_first, live_break, live_busy, live_echo, live_odd};
use CRATE::client::{CallError, CallOptions, CancelToken, Client, IsOver, Request, Response, Transport};

/// Answers every call with one result.
struct Said(Value);

impl Transport for Said {
    fn send(&self, _: &Request, _: &IsOver) -> std::io::Result<Response> {
        let body = json!({ "result": self.0 }).to_string().into_bytes();
        Ok(Response { status: 200, headers: Vec::new(), body: Box::new(std::io::Cursor::new(body)) })
    }
}

fn said(result: Value) -> Client {
    Client::with_transport("http://127.0.0.1:1", "", Said(result))
}

fn text(text: &str) -> Client {
    said(json!({ "content": [{ "type": "text", "text": text }], "structured_content": null }))
}

fn values_of_results() {
    let plain = CallOptions::new();
    let empty = json!({ "content": [{ "type": "text", "text": "Nothing.", "empty": true }] });
    let anything = |client: Client| client.gives_anything(&Default::default(), &plain).unwrap();
    assert_eq!(anything(text("5")), json!("5"));
    assert_eq!(anything(text("{\\"a\\": 1}")), json!("{\\"a\\": 1}"));
    assert_eq!(anything(said(empty.clone())), Value::Null);
    assert_eq!(anything(said(json!({ "content": [], "structured_content": false }))), json!(false));

    let texts = |client: Client| client.gives_text(&Default::default(), &plain);
    assert_eq!(texts(text("5")).unwrap(), "5");
    assert_eq!(texts(text("\\"quoted\\"")).unwrap(), "\\"quoted\\"");
    assert!(matches!(texts(said(empty.clone())), Err(CallError::Answer(_))));

    let count = |client: Client| client.gives_count(&Default::default(), &plain);
    assert_eq!(count(text("5")).unwrap(), 5);
    assert_eq!(count(text("6 of them")).unwrap_err().to_string(), "an answer that cannot be: must be of type integer");

    let maybe = |client: Client| client.gives_maybe(&Default::default(), &plain);
    assert!(maybe(said(empty)).unwrap().is_none());
    assert_eq!(maybe(text("null")).unwrap().unwrap(), "null");

    let odd = LiveCountInput { steps: 1, seconds: f64::NAN };
    match said(json!({})).live_count(&odd, &plain) {
        Err(CallError::Input(mismatch)) => assert_eq!(mismatch.place, "/seconds"),
        other => panic!("{:?}", other),
    }
}

fn main() {
    values_of_results();
    let client = Client::from_env().unwrap();
    let plain = CallOptions::new();
    let greet: LiveGreetInput = serde_json::from_value(json!({ "name": "Ada", "times": 2 })).unwrap();

    let greeted: LiveGreetOutput = client.live_greet(&greet, &plain).unwrap();
    assert_eq!(greeted.words, vec!["hello Ada", "hello Ada"]);
    assert!(greeted.mood.is_none());

    let keyed = CallOptions::new().idempotency_key("one");
    let first = client.live_greet(&greet, &keyed).unwrap().call;
    assert_eq!(client.live_greet(&greet, &keyed).unwrap().call, first);
    let mut other = greet.clone();
    other.name = "Bob".to_string();
    match client.live_greet(&other, &keyed) {
        Err(CallError::InvalidArguments(failure)) => assert_eq!(failure.code, "idempotency_conflict"),
        other => panic!("{:?}", other),
    }

    match client.live_forbidden(&LiveForbiddenInput { meant: true }, &plain) {
        Err(CallError::PermissionDenied(failure)) => {
            assert!(failure.message.contains("nobody may"), "{}", failure.message);
            assert!(failure.invocation_id.is_some());
        }
        other => panic!("{:?}", other),
    }
    match client.live_busy(&live_busy::LiveBusyInput::default(), &plain) {
        Err(CallError::RateLimited(failure)) => assert_eq!(failure.retry_after, Some(1.5)),
        other => panic!("{:?}", other),
    }
    match client.live_break(&live_break::LiveBreakInput { why: "so".to_string() }, &plain) {
        Err(CallError::ExecutionFailed(failure)) => assert_eq!(failure.message, "so"),
        other => panic!("{:?}", other),
    }
    match client.live_odd(&live_odd::LiveOddInput::default(), &plain) {
        Err(error) => assert!(error.failure().is_some(), "{:?}", error),
        other => panic!("{:?}", other),
    }
    let echo = live_echo::LiveEchoInput { value: json!({ "a": [1, null, 2.5] }) };
    let echoed: Value = client.live_echo(&echo, &plain).unwrap();
    assert_eq!(echoed, json!({ "value": { "a": [1, null, 2.5] } }));

    match client.live_ask_first(&live_ask_first::LiveAskFirstInput::default(), &plain) {
        Err(CallError::Pending(pending)) => {
            assert_eq!(pending.state, "awaiting_approval");
            let mut patient = CallOptions::new().timeout(Duration::from_millis(300));
            patient.waits_for_approval = true;
            match client.resume::<Value>(&pending.invocation_id, None, &patient) {
                Err(CallError::Timeout(_)) => {}
                other => panic!("{:?}", other),
            }
            match client.resume::<Value>(&pending.invocation_id, None, &plain) {
                Err(CallError::Pending(_)) => {} // nobody canceled it
                other => panic!("{:?}", other),
            }
            assert!(client.cancel(&pending.invocation_id, "no longer needed").unwrap());
        }
        other => panic!("{:?}", other),
    }

    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    let options = CallOptions::new().on_progress(move |progress| {
        listener.lock().unwrap().push(progress.clone());
    });
    let counted = client.live_count(&LiveCountInput { steps: 3, seconds: 0.3 }, &options).unwrap();
    assert_eq!(counted.counted, 3);
    let told = told.lock().unwrap();
    assert_eq!(told[0].message, "step 1");
    assert_eq!(told[0].total_steps, Some(3));

    let token = CancelToken::new();
    let given_up = token.clone();
    let options = CallOptions::new().cancel(&token).on_progress(move |_| given_up.cancel());
    let start = Instant::now();
    let canceled = match client.live_count(&LiveCountInput { steps: 2, seconds: 120.0 }, &options) {
        Err(CallError::Canceled(failure)) => failure.invocation_id.unwrap(),
        other => panic!("{:?}", other),
    };
    assert!(start.elapsed() < Duration::from_secs(60));
    match client.resume::<Value>(&canceled, None, &plain) {
        Err(CallError::Canceled(failure)) => assert!(failure.is_retry_safe || !failure.message.is_empty()),
        other => panic!("{:?}", other),
    }

    let options = CallOptions::new().timeout(Duration::from_millis(1500));
    match client.live_count(&LiveCountInput { steps: 2, seconds: 120.0 }, &options) {
        Err(CallError::Timeout(failure)) => assert!(failure.invocation_id.is_some()),
        other => panic!("{:?}", other),
    }

    let stranger = Client::new(std::env::var("FERRULE_URL").unwrap(), "wrong");
    match stranger.live_greet(&greet, &plain) {
        Err(CallError::Refused(failure)) => assert_eq!(failure.status, 401),
        other => panic!("{:?}", other),
    }
    match Client::new("https://127.0.0.1:1", "").live_greet(&greet, &plain) {
        Err(CallError::Connection(message)) => assert!(message.contains("Transport")),
        other => panic!("{:?}", other),
    }
    let broken = CallOptions::new().idempotency_key("a\\r\\nx: y");
    assert!(matches!(client.live_greet(&greet, &broken), Err(CallError::Connection(_))));
    println!("true");
}
"""


def _shown(plan: Plan) -> str:
    """What the README shows, which has to compile."""
    page = next(each.text for each in LANGUAGE.write(plan).files if each.path == "README.md")
    assert "`FERRULE_URL`" in page
    code = page.partition("```rust\n")[2].partition("```")[0]
    return f"#[allow(dead_code)]\nmod shown {{\n{code}}}\n"


def test_client_stubs_call_a_live_server(tmp_path: Path) -> None:
    given = [
        Given(tool["name"], tool["input_schema"]["parameters"], tool["output_schema"], tool["description"])
        for tool in TOOLS
    ]
    nothing: dict[str, Any] = {"type": "object"}
    given += [
        Given("gives_anything", nothing),
        Given("gives_text", nothing, {"type": "string"}),
        Given("gives_count", nothing, {"type": "integer"}),
        Given("gives_maybe", nothing, {"type": ["string", "null"]}),
    ]
    folder = tmp_path / "crate"
    name = f"caller_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    plan = planned(given, "client", is_project=True, name=name)
    library(plan, folder, _MAIN.replace("CRATE", name) + _shown(plan), name)
    well_formed(folder / "src" / "client")
    program = built(folder, name)
    with live(tmp_path / "workspace") as server:
        assert talked(program, [], **server.env) == [True]
