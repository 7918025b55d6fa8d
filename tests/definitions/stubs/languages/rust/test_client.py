"""Client stubs call a real Ferrule: typed results, typed refusals, cancellation, progress, one call for one key."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.identifiers import pascal
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from ferrule.model.failure import ERROR_CLASSES
from tests.definitions.stubs.languages.live import TOOLS, live
from tests.definitions.stubs.languages.rust.crates import Given, built, library, planned, talked, well_formed
from tests.infra.network.authority import Authority

_MAIN = """
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{json, Value};
use tokio::time::{sleep, timeout};
use CRATE::client::gives_anything::GivesAnythingInput;
use CRATE::client::live_ask_first::LiveAskFirstInput;
use CRATE::client::live_break::LiveBreakInput;
use CRATE::client::live_busy::LiveBusyInput;
use CRATE::client::live_count::LiveCountInput;
use CRATE::client::live_echo::LiveEchoInput;
use CRATE::client::live_forbidden::LiveForbiddenInput;
use CRATE::client::live_greet::{LiveGreetInput, LiveGreetOutput};
use CRATE::client::live_odd::LiveOddInput;
use CRATE::client::{CallError, CallOptions, Client, ErrorClass, Failure};

/// A server that answers one call with a result.
fn said(result: Value) -> Client {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\\"}") {
            let mut part = [0; 1024];
            let count = stream.read(&mut part).unwrap();
            asked.extend_from_slice(&part[..count]);
        }
        let body = json!({ "result": result }).to_string();
        let head = "HTTP/1.1 200 OK\\r\\nconnection: close\\r\\ncontent-type: application/json\\r\\ncontent-length";
        stream.write_all(format!("{head}: {}\\r\\n\\r\\n{body}", body.len()).as_bytes()).unwrap();
    });
    Client::new(&url, "").unwrap()
}

fn text(text: &str) -> Client {
    said(json!({ "content": [{ "type": "text", "text": text }], "structured_content": null }))
}

async fn values_of_results(options: &CallOptions) {
    let empty = json!({ "content": [{ "type": "text", "text": "Nothing.", "empty": true }] });
    let nothing = GivesAnythingInput::default();
    assert_eq!(text("5").gives_anything(&nothing, options).await.unwrap(), json!("5"));
    assert_eq!(said(empty.clone()).gives_anything(&nothing, options).await.unwrap(), Value::Null);
    let no = json!({ "content": [], "structured_content": false });
    assert_eq!(said(no).gives_anything(&nothing, options).await.unwrap(), json!(false));

    assert_eq!(text("5").gives_text(&Default::default(), options).await.unwrap(), "5");
    assert_eq!(text("\\"quoted\\"").gives_text(&Default::default(), options).await.unwrap(), "\\"quoted\\"");
    assert!(matches!(said(empty.clone()).gives_text(&Default::default(), options).await, Err(CallError::Broken(_))));
    assert_eq!(text("5").gives_count(&Default::default(), options).await.unwrap(), 5);
    assert_eq!(text("5.0").gives_count(&Default::default(), options).await.unwrap(), 5);
    assert!(matches!(text("6 of them").gives_count(&Default::default(), options).await, Err(CallError::Broken(_))));
    assert_eq!(said(empty).gives_maybe(&Default::default(), options).await.unwrap(), None);
    assert_eq!(text("null").gives_maybe(&Default::default(), options).await.unwrap().unwrap(), "null");
}

fn tokens_go_over_https() {
    for url in ["http://ferrule.example", "http://10.0.0.1:8787", "http://localhost.example", "ftp://127.0.0.2.example"] {
        assert!(matches!(Client::new(url, "secret"), Err(CallError::Broken(_))), "{url}");
        assert!(Client::new(url, "").is_ok(), "{url}");
    }
    for url in ["https://ferrule.example/v1/", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1/"] {
        assert!(Client::new(url, "secret").is_ok(), "{url}");
    }
    assert!(Client::new("", "").is_err());
}

async fn certificates_are_checked(options: &CallOptions) {
    let at = |name: &str| Client::new(&std::env::var(name).unwrap(), "secret").unwrap();
    assert_eq!(at("TRUSTED_URL").gives_text(&Default::default(), options).await.unwrap(), "safe");
    let strange = at("STRANGE_URL").gives_text(&Default::default(), options).await;
    assert!(matches!(strange, Err(CallError::Broken(_))), "{strange:?}");
}

fn failure<T: std::fmt::Debug>(outcome: Result<T, CallError>, class: ErrorClass) -> Failure {
    match outcome {
        Err(CallError::Failed(failure)) if failure.class == Some(class) => *failure,
        other => panic!("{:?}", other),
    }
}

#[tokio::main]
async fn main() {
    let plain = CallOptions::default();
    values_of_results(&plain).await;
    tokens_go_over_https();
    certificates_are_checked(&plain).await;
    let client = Client::from_env().unwrap();
    let greet: LiveGreetInput = serde_json::from_value(json!({ "name": "Ada", "times": 2 })).unwrap();

    let greeted: LiveGreetOutput = client.live_greet(&greet, &plain).await.unwrap();
    assert_eq!(greeted.words, vec!["hello Ada", "hello Ada"]);
    assert!(greeted.mood.is_none());

    let keyed = CallOptions { idempotency_key: Some("one".to_string()), ..Default::default() };
    let first = client.live_greet(&greet, &keyed).await.unwrap().call;
    assert_eq!(client.live_greet(&greet, &keyed).await.unwrap().call, first);
    let mut other = greet.clone();
    other.name = "Bob".to_string();
    let refused = failure(client.live_greet(&other, &keyed).await, ErrorClass::InvalidArguments);
    assert_eq!(refused.code, "idempotency_conflict");

    let denied = client.live_forbidden(&LiveForbiddenInput { meant: true }, &plain).await;
    let denied = failure(denied, ErrorClass::PermissionDenied);
    assert!(denied.message.contains("nobody may"), "{}", denied.message);
    assert!(denied.invocation_id.is_some());
    let busy = failure(client.live_busy(&LiveBusyInput::default(), &plain).await, ErrorClass::RateLimited);
    assert_eq!(busy.retry_after, Some(1.5));
    let broken = client.live_break(&LiveBreakInput { why: "so".to_string() }, &plain).await;
    assert_eq!(failure(broken, ErrorClass::ExecutionFailed).message, "so");
    assert!(matches!(client.live_odd(&LiveOddInput::default(), &plain).await, Err(CallError::Failed(_))));
    let echo = LiveEchoInput { value: json!({ "a": [1, null, 2.5] }) };
    let echoed: Value = client.live_echo(&echo, &plain).await.unwrap();
    assert_eq!(echoed, json!({ "value": { "a": [1, null, 2.5] } }));

    match client.live_ask_first(&LiveAskFirstInput::default(), &plain).await {
        Err(CallError::Pending { call, state }) => {
            assert_eq!(state, "awaiting_approval");
            let patient = CallOptions { waits_for_approval: true, ..Default::default() };
            let waited = timeout(Duration::from_millis(300), client.resume::<Value>(&call, &patient)).await;
            assert!(waited.is_err());
            let again = client.resume::<Value>(&call, &plain).await;
            assert!(matches!(again, Err(CallError::Pending { .. })), "nobody canceled it: {again:?}");
            assert!(client.cancel(&call).await.unwrap());
        }
        other => panic!("{:?}", other),
    }

    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let options = CallOptions {
        on_progress: Some(Box::new(move |progress| heard.lock().unwrap().push(progress))),
        ..Default::default()
    };
    let counted = client.live_count(&LiveCountInput { steps: 3, seconds: 0.3 }, &options).await.unwrap();
    assert_eq!(counted.counted, 3);
    assert_eq!(told.lock().unwrap()[0].message.as_deref(), Some("step 1"));

    // A call that is dropped is canceled at the server.
    let keyed = CallOptions { idempotency_key: Some("long".to_string()), ..Default::default() };
    let long = LiveCountInput { steps: 2, seconds: 120.0 };
    assert!(timeout(Duration::from_millis(1500), client.live_count(&long, &keyed)).await.is_err());
    let mut ended = client.live_count(&long, &keyed).await;
    for _ in 0..50 {
        if !matches!(&ended, Err(CallError::Failed(failure)) if failure.class == Some(ErrorClass::Canceled)) {
            sleep(Duration::from_millis(100)).await;
            ended = client.live_count(&long, &keyed).await;
        }
    }
    failure(ended, ErrorClass::Canceled);

    let stranger = Client::new(&std::env::var("FERRULE_URL").unwrap(), "wrong").unwrap();
    match stranger.live_greet(&greet, &plain).await {
        Err(CallError::Failed(failure)) => assert_eq!((failure.class, failure.status), (None, 401)),
        other => panic!("{:?}", other),
    }
    let secure = Client::new("https://127.0.0.1:1", "").unwrap();
    assert!(matches!(secure.live_greet(&greet, &plain).await, Err(CallError::Broken(_))));
    let odd = CallOptions { idempotency_key: Some("a\\r\\nx: y".to_string()), ..Default::default() };
    assert!(matches!(client.live_greet(&greet, &odd).await, Err(CallError::Broken(_))));
    println!("true");
}
"""


def _example(plan: StubPlan) -> str:
    """What the README shows, which has to compile."""
    page = next(each.text for each in LANGUAGE.write(plan).files if each.path == "README.md")
    assert "`FERRULE_URL`" in page
    code = page.partition("```rust\n")[2].partition("```")[0]
    return f"#[allow(dead_code)]\nmod shown {{\n{code}}}\n"


class _Safe(BaseHTTPRequestHandler):
    """Gives a text to who has the token."""

    def do_POST(self) -> None:
        assert self.headers["authorization"] == "Bearer secret"
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"result": {"content": [{"type": "text", "text": "safe"}]}}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def _secure(tls: ssl.SSLContext) -> Iterator[str]:
    """The address of a server that speaks TLS."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Safe) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


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
    given += [Given(name, nothing) for name in ("follow", "request", "new", "values", "wait")]
    folder = tmp_path / "crate"
    name = f"caller_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    plan = planned(given, "client", is_project=True, name=name)
    library(plan, folder, _MAIN.replace("CRATE", name) + _example(plan), name)
    well_formed(folder / "src" / "client")
    program = built(folder, name)
    (tmp_path / "strange").mkdir()
    known, strange = Authority(tmp_path), Authority(tmp_path / "strange")
    with (
        live(tmp_path / "workspace") as server,
        _secure(known.server("localhost")) as trusted,
        _secure(strange.server("localhost")) as other,
    ):
        places = {"TRUSTED_URL": trusted, "STRANGE_URL": other, "SSL_CERT_FILE": str(known.file)}
        assert talked(program, [], **server.env, **places) == [True]


def test_every_error_class_has_a_variant() -> None:
    text = next(
        each.text for each in LANGUAGE.write(planned([], "client")).files if each.path.endswith("support/mod.rs")
    )
    listed = text.partition("pub enum ErrorClass {")[2].partition("///")[0].replace("\n", " ").split(",")
    variants = [name.strip() for name in listed if name.strip()]
    assert variants == [pascal(each.split("_"), frozenset()) for each in ERROR_CLASSES]
