//! Calls tools of a running Ferrule over HTTP.
//!
//! A call is followed by its events, so that its id is known from the start: who gives up waiting
//! cancels it at the server too.

use std::env;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Value};

use super::events::Events;
use super::failure::{CallError, Failure};
use super::http::{IsOver, Plain, Request, Response, Transport};
use super::json;
use super::results::{ended, typed};
use super::schema::{plain, Document};

/// How long a call that is given up may still take to tell its id.
const GRACE: Duration = Duration::from_secs(2);
/// How long the server may take to say that it canceled a call.
const CANCELING: Duration = Duration::from_secs(10);
const LARGEST: u64 = 256 << 20;

/// Gives up calls. Clones are the same token.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    is_cancelled: Arc<AtomicBool>,
}

impl CancelToken {
    /// A token that nobody has used.
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Gives up every call that was made with it.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallProgress {
    /// What it is doing: `running`, `partial_result`, ….
    pub status: String,
    /// The same for people, or empty.
    pub message: String,
    /// From 0 to 100.
    pub percent: Option<f64>,
    /// The step it is at.
    pub current_step: Option<String>,
    /// How many there are.
    pub total_steps: Option<u64>,
    /// Parts of the result that are there already.
    pub content: Vec<Value>,
}

type Listener = Arc<dyn Fn(&CallProgress) + Send + Sync>;

/// What can be said about one call.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// How long to wait; the call is canceled then.
    pub timeout: Option<Duration>,
    /// Gives the call up when it says so.
    pub is_cancelled: Option<IsOver>,
    /// Told of progress.
    pub on_progress: Option<Listener>,
    /// Calls with the same key and arguments are one call.
    pub idempotency_key: Option<String>,
    /// The run that the call is part of.
    pub run: Option<String>,
    /// Whether to go on waiting where a person has to allow the call.
    pub waits_for_approval: bool,
}

impl CallOptions {
    /// Nothing said.
    pub fn new() -> Self {
        CallOptions::default()
    }

    /// With a time to wait.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// With a token to give the call up by.
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        let token = token.clone();
        self.is_cancelled = Some(Arc::new(move || token.is_cancelled()));
        self
    }

    /// With somebody to tell progress to.
    pub fn on_progress(mut self, tell: impl Fn(&CallProgress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(tell));
        self
    }

    /// With a key that makes calls one call.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }
}

/// Calls the tools of one server. Clones share everything.
#[derive(Clone)]
pub struct Client {
    url: String,
    token: String,
    transport: Arc<dyn Transport>,
}

impl Client {
    /// Of the server at an address, with a token or an empty text.
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        Client::with_transport(url, token, Plain)
    }

    /// With connections of another kind: https, a pool, a test.
    pub fn with_transport(
        url: impl Into<String>,
        token: impl Into<String>,
        transport: impl Transport + 'static,
    ) -> Self {
        let url = url.into();
        let url = url
            .trim_end_matches('/')
            .trim_end_matches("/v1")
            .to_string();
        Client {
            url,
            token: token.into(),
            transport: Arc::new(transport),
        }
    }

    /// As `FERRULE_URL` and `FERRULE_TOKEN` say.
    pub fn from_env() -> Result<Self, CallError> {
        let url = env::var("FERRULE_URL").unwrap_or_default();
        if url.is_empty() {
            return Err(CallError::Connection(
                "FERRULE_URL does not name a server".to_string(),
            ));
        }
        Ok(Client::new(
            url,
            env::var("FERRULE_TOKEN").unwrap_or_default(),
        ))
    }

    /// Calls a tool by its name. The result is checked by its schema, where there is one.
    pub fn call_tool<I: Serialize, O: DeserializeOwned>(
        &self,
        tool: &str,
        input: &I,
        output: Option<&Document>,
        options: &CallOptions,
    ) -> Result<O, CallError> {
        let body = json!({ "tool": tool, "arguments": plain(input).map_err(CallError::Input)? });
        let mut request = self.request("POST", "/v1/calls", body.to_string().into_bytes());
        request
            .headers
            .push(("accept", "text/event-stream".to_string()));
        if let Some(key) = &options.idempotency_key {
            request.headers.push(("idempotency-key", key.clone()));
        }
        if let Some(run) = &options.run {
            request.headers.push(("ferrule-run", run.clone()));
        }
        typed(&self.follow(&request, "", options)?, output)
    }

    /// The result of a call that waited, once it has ended. Who gives up waiting for it does not cancel it.
    pub fn resume<O: DeserializeOwned>(
        &self,
        invocation_id: &str,
        output: Option<&Document>,
        options: &CallOptions,
    ) -> Result<O, CallError> {
        let path = format!("/v1/calls/{}/events", escaped(invocation_id));
        let mut request = self.request("GET", &path, Vec::new());
        request
            .headers
            .push(("accept", "text/event-stream".to_string()));
        typed(&self.follow(&request, invocation_id, options)?, output)
    }

    /// Cancels a call. Gives whether that ended it.
    pub fn cancel(&self, invocation_id: &str, reason: &str) -> Result<bool, CallError> {
        let path = format!("/v1/calls/{}/cancel", escaped(invocation_id));
        let body = json!({ "reason": reason }).to_string().into_bytes();
        let (status, answer) = self.ask(&self.request("POST", &path, body))?;
        if status >= 300 {
            return Err(CallError::told(status, &answer));
        }
        Ok(answer["outcome"] != "cancel_failed")
    }

    fn request(&self, method: &'static str, path: &str, body: Vec<u8>) -> Request {
        let mut headers = vec![("content-type", "application/json".to_string())];
        if !self.token.is_empty() {
            headers.push(("authorization", format!("Bearer {}", self.token)));
        }
        Request {
            method,
            url: format!("{}{}", self.url, path),
            headers,
            body,
        }
    }

    /// The answer to a short request.
    fn ask(&self, request: &Request) -> Result<(u16, Value), CallError> {
        let end = Instant::now() + CANCELING;
        let is_over: IsOver = Arc::new(move || Instant::now() > end);
        let response = self.transport.send(request, &is_over).map_err(broken)?;
        Ok((response.status, whole(response)?))
    }

    /// Follows a call to its end.
    fn follow(
        &self,
        request: &Request,
        id: &str,
        options: &CallOptions,
    ) -> Result<Value, CallError> {
        let wait = Arc::new(Wait::new(options, id));
        let watched = wait.clone();
        let is_over: IsOver = Arc::new(move || watched.is_over());
        let outcome = self.events(request, &is_over, &wait, options);
        match (outcome, wait.reason()) {
            (Err(CallError::Connection(_)), Some(reason)) if id.is_empty() => {
                self.give_up(&wait, reason)
            }
            (Err(CallError::Connection(_)), Some(reason)) => Err(given_up(reason, id)),
            (outcome, _) => outcome,
        }
    }

    fn events(
        &self,
        request: &Request,
        is_over: &IsOver,
        wait: &Wait,
        options: &CallOptions,
    ) -> Result<Value, CallError> {
        let response = self.transport.send(request, is_over).map_err(broken)?;
        let status = response.status;
        if !response
            .header("content-type")
            .starts_with("text/event-stream")
        {
            return ended(status, &whole(response)?);
        }
        let mut events = Events::new(response.body);
        while let Some(event) = events.event().map_err(broken)? {
            let data = json::parse(event.data.as_bytes())?;
            match event.name.as_str() {
                "call" => wait.is_known(data["invocation_id"].as_str().unwrap_or("")),
                "progress" => tell(options, &data),
                "waiting" if !options.waits_for_approval => return ended(status, &data),
                "result" => return ended(status, &data),
                _ => {}
            }
        }
        Err(CallError::Connection(
            "the events ended before the call did".to_string(),
        ))
    }

    /// Cancels a call that nobody waits for any more; where it had ended already, its result.
    fn give_up(&self, wait: &Wait, reason: &'static str) -> Result<Value, CallError> {
        let id = wait.id();
        if !id.is_empty() && !self.cancel(&id, "the caller gave up waiting")? {
            let path = format!("/v1/calls/{}", escaped(&id));
            let (status, answer) = self.ask(&self.request("GET", &path, Vec::new()))?;
            return ended(status, &answer);
        }
        Err(given_up(reason, &id))
    }
}

fn given_up(reason: &str, id: &str) -> CallError {
    CallError::of(Failure {
        class: reason.to_string(),
        code: reason.to_string(),
        message: "the caller gave up waiting".to_string(),
        invocation_id: Some(id.to_string()).filter(|id| !id.is_empty()),
        recoverability: "retry".to_string(),
        ..Failure::default()
    })
}

/// What a caller waits for, and until when.
struct Wait {
    end: Option<Instant>,
    is_cancelled: Option<IsOver>,
    state: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    id: String,
    given_up: Option<Instant>,
}

impl Wait {
    fn new(options: &CallOptions, id: &str) -> Self {
        let end = options.timeout.map(|time| Instant::now() + time);
        let state = Mutex::new(Known {
            id: id.to_string(),
            given_up: None,
        });
        Wait {
            end,
            is_cancelled: options.is_cancelled.clone(),
            state,
        }
    }

    /// The error class of why the caller gives up, if so.
    fn reason(&self) -> Option<&'static str> {
        if self
            .is_cancelled
            .as_ref()
            .map_or(false, |is_cancelled| is_cancelled())
        {
            return Some("canceled");
        }
        self.end
            .filter(|end| Instant::now() >= *end)
            .map(|_| "timeout")
    }

    fn is_over(&self) -> bool {
        if self.reason().is_none() {
            return false;
        }
        let mut known = self
            .state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let since = *known.given_up.get_or_insert_with(Instant::now);
        !known.id.is_empty() || since.elapsed() > GRACE
    }

    fn is_known(&self, id: &str) {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .id = id.to_string();
    }

    fn id(&self) -> String {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .id
            .clone()
    }
}

fn broken(error: std::io::Error) -> CallError {
    CallError::Connection(error.to_string())
}

fn whole(response: Response) -> Result<Value, CallError> {
    let mut text = Vec::new();
    response
        .body
        .take(LARGEST)
        .read_to_end(&mut text)
        .map_err(broken)?;
    if text.is_empty() {
        return Ok(Value::Null);
    }
    Ok(json::parse(&text)?)
}

fn tell(options: &CallOptions, data: &Value) {
    if let Some(listener) = &options.on_progress {
        let text = |name: &str| data[name].as_str().map(str::to_string);
        listener(&CallProgress {
            status: text("status").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            percent: data["percent"].as_f64(),
            current_step: text("current_step"),
            total_steps: data["total_steps"].as_u64(),
            content: data["content"].as_array().cloned().unwrap_or_default(),
        });
    }
}

fn escaped(id: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.~".contains(byte);
    id.bytes()
        .map(|byte| {
            if is_plain(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{:02X}", byte)
            }
        })
        .collect()
}
