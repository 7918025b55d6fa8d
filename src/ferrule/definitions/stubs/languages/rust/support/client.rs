//! Calls tools of a running Ferrule over HTTP.
//!
//! A future that is dropped before its call has ended cancels the call at the server too.

use std::{env, fmt, net::IpAddr};

use reqwest::{header, redirect, Method, RequestBuilder, Url};
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use serde_json::{json, Value};
use tokio::runtime::Handle;

use self::values::read;
pub mod values;

/// What can be said about one call.
#[derive(Default)]
pub struct CallOptions {
    /// Calls with the same key and arguments are one call.
    pub idempotency_key: Option<String>,
    /// Whether to go on waiting where a person has to allow the call.
    pub waits_for_approval: bool,
    pub on_progress: Option<Box<dyn Fn(CallProgress) + Send + Sync>>,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CallProgress {
    pub status: String,
    pub message: Option<String>,
    pub percent: Option<f64>,
}

/// The error classes of Ferrule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[rustfmt::skip]
pub enum ErrorClass {
    UnknownTool, SchemaNotLoaded, SchemaValidationFailed, InvalidArguments, SetupRequired,
    CredentialMissing, CapabilityGap, SandboxViolation, HookBlocked, PermissionDenied,
    ApprovalRejected, PolicyBlocked, Canceled, SiblingCanceled, StreamingFallbackDiscarded,
    Timeout, RateLimited, DependencyUnavailable, ExecutionFailed, PartialFailure,
    ResultTooLarge, ResultRedacted,
    /// One that was not known when this was written.
    #[serde(other)]
    Other,
}

/// What Ferrule says of a call that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// None where the request did not become a call: no token, a bad request, an overloaded server.
    pub class: Option<ErrorClass>,
    pub code: String,
    pub message: String,
    pub invocation_id: Option<String>,
    /// Whether the same call may be made again without harm, and after how many seconds.
    pub is_retry_safe: bool,
    pub retry_after: Option<f64>,
    pub status: u16,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The call failed or was refused.
    Failed(Box<Failure>),
    /// The call waits for a person (`awaiting_approval`): `Client::resume` asks for its result later.
    Pending { call: String, state: String },
    /// The server cannot be reached, or not in this way, or it gave what is no answer.
    Broken(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Failed(failure) => write!(to, "{}: {}", failure.code, failure.message),
            CallError::Pending { call, state } => write!(to, "{call} has not ended: {state}"),
            CallError::Broken(why) => write!(to, "no answer: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<reqwest::Error> for CallError {
    fn from(error: reqwest::Error) -> Self {
        CallError::Broken(error.to_string())
    }
}

impl From<serde_json::Error> for CallError {
    fn from(error: serde_json::Error) -> Self {
        CallError::Broken(error.to_string())
    }
}

pub type Called<T> = Result<T, CallError>;

/// Calls the tools of one server. Clones share its connections.
#[derive(Clone)]
pub struct Client {
    url: Url,
    token: String,
    http: reqwest::Client,
}

impl Client {
    /// Of the server at an address, with a token or an empty text. A token goes over https, or over
    /// http to this machine, and nowhere else.
    pub fn new(url: &str, token: &str) -> Called<Self> {
        let bad = |why: &str| CallError::Broken(format!("{url:?} cannot be called: {why}"));
        let parsed = Url::parse(url).map_err(|_| bad("it is no URL"))?;
        let host = parsed
            .host_str()
            .unwrap_or("")
            .trim_matches(&['[', ']'][..]);
        let address = host.parse::<IpAddr>();
        let is_here = host == "localhost" || matches!(address, Ok(each) if each.is_loopback());
        if !token.is_empty() && parsed.scheme() != "https" && !is_here {
            return Err(bad("a token needs https on its way to another machine"));
        }
        let http = reqwest::Client::builder().redirect(redirect::Policy::none());
        // What goes to this machine must not leave it.
        let http = if is_here { http.no_proxy() } else { http };
        let (url, token, http) = (parsed, token.to_string(), http.build()?);
        Ok(Client { url, token, http })
    }

    /// As `FERRULE_URL` and `FERRULE_TOKEN` say.
    pub fn from_env() -> Called<Self> {
        let url = env::var("FERRULE_URL").unwrap_or_default();
        Client::new(&url, &env::var("FERRULE_TOKEN").unwrap_or_default())
    }

    /// Calls a tool by its name.
    pub async fn call_tool<I: Serialize, O: DeserializeOwned>(
        &self,
        tool: &str,
        input: &I,
        options: &CallOptions,
    ) -> Called<O> {
        let body = json!({ "tool": tool, "arguments": serde_json::to_value(input)? });
        let mut request = self.request(Method::POST, &["calls"]).json(&body);
        if let Some(key) = &options.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let mut guard = Guard(self, String::new());
        let ended = self.follow(request, options, &mut guard.1).await;
        guard.1.clear();
        typed(&ended?)
    }

    /// The result of a call that waited, once it has ended. Dropping this does not cancel the call.
    pub async fn resume<O: DeserializeOwned>(
        &self,
        call: &str,
        options: &CallOptions,
    ) -> Called<O> {
        let request = self.request(Method::GET, &["calls", call, "events"]);
        typed(&self.follow(request, options, &mut String::new()).await?)
    }

    /// Cancels a call. Gives whether that ended it.
    pub async fn cancel(&self, call: &str) -> Called<bool> {
        let request = self.request(Method::POST, &["calls", call, "cancel"]);
        let response = request.json(&json!({})).send().await?;
        let answer: Value = response.error_for_status()?.json().await?;
        Ok(answer["outcome"] != "cancel_failed")
    }

    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut steps) = url.path_segments_mut() {
            steps.pop_if_empty().push("v1").extend(path);
        }
        let request = self.http.request(method, url);
        match self.token.as_str() {
            "" => request,
            token => request.bearer_auth(token),
        }
    }

    /// Follows a call to its end. Its id is put into `id` as soon as it is known.
    async fn follow(
        &self,
        ask: RequestBuilder,
        on: &CallOptions,
        id: &mut String,
    ) -> Called<Value> {
        let mut response = ask
            .header(header::ACCEPT, "text/event-stream")
            .send()
            .await?;
        let status = response.status().as_u16();
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.map_or(&b""[..], |kind| kind.as_bytes());
        if !kind.starts_with(b"text/event-stream") {
            return result(status, response.json().await?);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            bytes.extend_from_slice(&chunk);
            if !bytes.ends_with(b"\n\n") {
                continue;
            }
            for event in String::from_utf8_lossy(&std::mem::take(&mut bytes)).split("\n\n") {
                let line = |name| event.lines().find_map(|line| line.strip_prefix(name));
                let data: Value = serde_json::from_str(line("data: ").unwrap_or("null"))?;
                match (line("event: ").unwrap_or(""), &on.on_progress) {
                    ("call", _) => *id = read(data["invocation_id"].clone())?,
                    ("progress", Some(hear)) => hear(read(data)?),
                    ("waiting", _) if !on.waits_for_approval => return result(status, data),
                    ("result", _) => return result(status, data),
                    _ => {}
                }
            }
        }
        Err(CallError::Broken(
            "the events ended before the call".to_string(),
        ))
    }
}

/// Cancels a call that nobody waits for any more.
struct Guard<'a>(&'a Client, String);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.1.is_empty(), Handle::try_current()) {
            let (client, call) = (self.0.clone(), self.1.clone());
            runtime.spawn(async move { client.cancel(&call).await });
        }
    }
}

fn result(status: u16, mut answer: Value) -> Called<Value> {
    if answer["is_pending"] == true {
        let call = read(answer["invocation_id"].take())?;
        let state = read(answer["state"].take())?;
        return Err(CallError::Pending { call, state });
    }
    if status < 300 && answer["result"]["is_error"] != true {
        return Ok(answer["result"].take());
    }
    let error = &answer["result"]["error"];
    let text = |first: &Value, then: &Value| first.as_str().or(then.as_str()).map(String::from);
    let class = text(&error["error_class"], &answer["error_class"]);
    let failure = Failure {
        class: class.and_then(|class| read(json!(class)).ok()),
        code: text(&error["error_code"], &answer["code"]).unwrap_or_default(),
        message: text(&error["message"], &answer["detail"]).unwrap_or_default(),
        invocation_id: text(&answer["invocation_id"], &answer["result"]["invocation_id"]),
        is_retry_safe: error["retry"]["retry_safe"] == true,
        retry_after: error["retry_after"].as_f64(),
        status,
    };
    Err(CallError::Failed(Box::new(failure)))
}

/// The value of a result: what it has besides texts for people, or else its text, maybe as JSON.
fn typed<O: DeserializeOwned>(result: &Value) -> Called<O> {
    let value = &result["structured_content"];
    let parts = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    if !value.is_null() || parts.iter().all(|part| part["empty"] == true) {
        return Ok(read(value.clone())?);
    }
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    read(json!(text)).or_else(|_| Ok(read(serde_json::from_str(&text)?)?))
}
