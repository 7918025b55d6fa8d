//! Tools served over standard input and output as the Model Context Protocol says: one JSON-RPC
//! message a line, each call on a thread of its own.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value};

use super::json::parse;
use super::tool::{Context, Progress, Tool, ToolError};

const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// Values may be nested deeply, and schemas look at them once more for each level.
const STACK: usize = 16 << 20;
/// How long calls may go on after the last message.
const PATIENCE: Duration = Duration::from_secs(10);
const BAD_TEXT: i64 = -32700;
const BAD_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const BAD_PARAMETERS: i64 = -32602;
const BROKEN: i64 = -32603;

/// Serves tools until standard input ends. Calls that run then are waited for and answered.
pub fn serve(name: &str, version: &str, tools: Vec<Tool>) {
    let server = Arc::new(Server {
        about: json!({ "name": name, "version": version }),
        tools,
        running: Mutex::new(HashMap::new()),
        has_ended: Condvar::new(),
        out: Mutex::new(Box::new(io::stdout())),
    });
    for line in io::stdin().lock().split(b'\n') {
        let line = match line {
            Ok(line) => line,
            Err(_) => break,
        };
        if !line.iter().all(u8::is_ascii_whitespace) {
            Server::take(&server, &line);
        }
    }
    server.end();
}

struct Server {
    about: Value,
    tools: Vec<Tool>,
    /// The calls that have not ended, by the ids of their requests.
    running: Mutex<HashMap<String, Context>>,
    has_ended: Condvar,
    out: Mutex<Box<dyn Write + Send>>,
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Server {
    /// Answers a message, on a thread of its own where it is a call.
    fn take(server: &Arc<Server>, line: &[u8]) {
        let message = match parse(line) {
            Ok(message) => message,
            Err(mismatch) => return server.fail(Value::Null, BAD_TEXT, &mismatch.to_string()),
        };
        if !message.is_object() {
            return server.fail(Value::Null, BAD_REQUEST, "a message is one object");
        }
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let id = message.get("id").cloned();
        match (message["method"].as_str(), id) {
            (Some("notifications/cancelled"), _) => server.cancel(&message["params"]["requestId"]),
            (Some("tools/call"), Some(id)) => Server::start(server, id, &message["params"]),
            (Some(method), Some(id)) => server.answer(method, id, &message["params"]),
            (None, id) if !is_answer => {
                let id = id.unwrap_or_default();
                server.fail(id, BAD_REQUEST, "the message has no method");
            }
            _ => {}
        }
    }

    fn answer(&self, method: &str, id: Value, params: &Value) {
        let result = match method {
            "initialize" => self.introduced(params),
            "ping" => json!({}),
            "tools/list" => return self.list(&id),
            _ => return self.fail(id, NO_METHOD, "there is no such method"),
        };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn list(&self, id: &Value) {
        let tools: Vec<String> = self
            .tools
            .iter()
            .map(|tool| tool.descriptor.listed())
            .collect();
        let result = format!("{{\"tools\":[{}]}}", tools.join(","));
        self.put(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}}",
            id, result
        ));
    }

    fn introduced(&self, params: &Value) -> Value {
        let asked = params["protocolVersion"].as_str().unwrap_or("");
        let known = REVISIONS.iter().find(|revision| **revision == asked);
        json!({
            "protocolVersion": known.unwrap_or(&REVISIONS[0]),
            "capabilities": { "tools": {} },
            "serverInfo": self.about,
        })
    }

    fn start(server: &Arc<Server>, id: Value, params: &Value) {
        let name = params["name"].as_str().unwrap_or("");
        let mut tools = server.tools.iter();
        let index = match tools.position(|tool| tool.descriptor.name == name) {
            Some(index) => index,
            None => {
                let words = format!("Unknown tool: {}", name);
                return server.fail(id, BAD_PARAMETERS, &words);
            }
        };
        let context = server.context(&params["_meta"]["progressToken"]);
        let key = id.to_string();
        let is_taken = held(&server.running).contains_key(&key);
        if is_taken {
            return server.fail(id, BAD_REQUEST, "a call with this id is still running");
        }
        held(&server.running).insert(key, context.clone());
        let (shared, asked) = (server.clone(), id.clone());
        let arguments = params.get("arguments").cloned();
        let call = move || shared.call(index, asked, arguments, &context);
        if let Err(error) = thread::Builder::new().stack_size(STACK).spawn(call) {
            server.ended(&id);
            server.fail(id, BROKEN, &error.to_string());
        }
    }

    /// A context that tells progress where a token was given to tell it under.
    fn context(self: &Arc<Self>, token: &Value) -> Context {
        let (server, token) = (self.clone(), token.clone());
        Context::new(move |progress: Progress| {
            if !token.is_null() && progress.done.is_finite() {
                server.tell(&token, &progress);
            }
        })
    }

    fn tell(&self, token: &Value, progress: &Progress) {
        let mut params = json!({ "progressToken": token, "progress": progress.done });
        if let Some(total) = progress.total.filter(|total| total.is_finite()) {
            params["total"] = json!(total);
        }
        if !progress.message.is_empty() {
            params["message"] = json!(progress.message);
        }
        let method = "notifications/progress";
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn call(&self, index: usize, id: Value, arguments: Option<Value>, context: &Context) {
        let arguments = arguments.unwrap_or_else(|| json!({}));
        let tool = &self.tools[index];
        let outcome = catch_unwind(AssertUnwindSafe(|| tool.call(arguments, context)))
            .unwrap_or_else(|_| Err(ToolError::new("the tool broke off; its log says why")));
        // Who cancels a call does not want its answer.
        if !context.is_cancelled() {
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result(outcome) }));
        }
        self.ended(&id);
    }

    fn ended(&self, id: &Value) {
        held(&self.running).remove(&id.to_string());
        self.has_ended.notify_all();
    }

    fn cancel(&self, id: &Value) {
        if let Some(context) = held(&self.running).get(&id.to_string()) {
            context.cancel();
        }
    }

    /// Waits until all calls have been answered; those that take too long are given up.
    fn end(&self) {
        let running = held(&self.running);
        let waited = self
            .has_ended
            .wait_timeout_while(running, PATIENCE, |running| !running.is_empty());
        let (running, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        running.values().for_each(Context::cancel);
    }

    fn fail(&self, id: Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn send(&self, message: &Value) {
        self.put(&message.to_string());
    }

    fn put(&self, line: &str) {
        let mut out = held(&self.out);
        // Nobody is left to tell where this fails.
        let _ = writeln!(out, "{}", line).and_then(|()| out.flush());
    }
}

fn result(outcome: Result<Value, ToolError>) -> Value {
    match outcome {
        Ok(value) => {
            let content = match &value {
                Value::Null => json!([]),
                Value::String(text) => json!([{ "type": "text", "text": text }]),
                other => json!([{ "type": "text", "text": other.to_string() }]),
            };
            match value {
                Value::Object(_) => {
                    json!({ "content": content, "structuredContent": value, "isError": false })
                }
                _ => json!({ "content": content, "isError": false }),
            }
        }
        Err(error) => {
            let content = json!([{ "type": "text", "text": error.message }]);
            json!({ "content": content, "isError": true })
        }
    }
}
