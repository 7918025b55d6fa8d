//! Tools served over standard input and output as the Model Context Protocol says: one JSON-RPC
//! message a line, each call on a thread of its own.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{json, Value};

use super::json::parse;
use super::tool::{Context, Progress, Tool, ToolError};

const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// Values may be nested deeply, and schemas look at them once more for each level.
const STACK: usize = 16 << 20;
const BAD_TEXT: i64 = -32700;
const BAD_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const BAD_PARAMETERS: i64 = -32602;

/// Serves tools until standard input ends.
pub fn serve(name: &str, version: &str, tools: Vec<Tool>) {
    let server = Arc::new(Server {
        about: json!({ "name": name, "version": version }),
        tools,
        running: Mutex::new(HashMap::new()),
        out: Mutex::new(Box::new(io::stdout())),
    });
    let mut threads = Vec::new();
    for line in io::stdin().lock().split(b'\n') {
        let line = match line {
            Ok(line) => line,
            Err(_) => break,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        threads.extend(Server::take(&server, &line));
        threads.retain(|thread: &thread::JoinHandle<()>| !thread.is_finished());
    }
    server.end();
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

struct Server {
    about: Value,
    tools: Vec<Tool>,
    /// The calls that have not ended, by the ids of their requests.
    running: Mutex<HashMap<String, Context>>,
    out: Mutex<Box<dyn Write + Send>>,
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Server {
    /// Answers a message, on a thread of its own where it is a call.
    fn take(server: &Arc<Server>, line: &[u8]) -> Option<thread::JoinHandle<()>> {
        let message = match parse(line) {
            Ok(message) => message,
            Err(mismatch) => {
                server.fail(Value::Null, BAD_TEXT, &mismatch.to_string());
                return None;
            }
        };
        let id = message.get("id").cloned();
        match (message["method"].as_str(), id) {
            (Some("notifications/cancelled"), _) => server.cancel(&message["params"]["requestId"]),
            (Some("tools/call"), Some(id)) => return Server::start(server, id, message),
            (Some(method), Some(id)) => server.answer(method, id, &message["params"]),
            (None, Some(id))
                if message.get("result").is_none() && message.get("error").is_none() =>
            {
                server.fail(id, BAD_REQUEST, "the message has no method");
            }
            _ => {}
        }
        None
    }

    fn answer(&self, method: &str, id: Value, params: &Value) {
        let result = match method {
            "initialize" => self.introduced(params),
            "ping" => json!({}),
            "tools/list" => {
                let listed = self.tools.iter().map(|tool| tool.descriptor.listed());
                json!({ "tools": listed.collect::<Vec<Value>>() })
            }
            _ => return self.fail(id, NO_METHOD, "there is no such method"),
        };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
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

    fn start(server: &Arc<Server>, id: Value, message: Value) -> Option<thread::JoinHandle<()>> {
        let name = message["params"]["name"].as_str().unwrap_or("").to_string();
        let index = server
            .tools
            .iter()
            .position(|tool| tool.descriptor.name == name);
        let index = match index {
            Some(index) => index,
            None => {
                server.fail(id, BAD_PARAMETERS, &format!("Unknown tool: {}", name));
                return None;
            }
        };
        let context = server.context(&message["params"]["_meta"]["progressToken"]);
        held(&server.running).insert(id.to_string(), context.clone());
        let (shared, params) = (server.clone(), message["params"].clone());
        let call = move || shared.call(index, id, params, &context);
        thread::Builder::new().stack_size(STACK).spawn(call).ok()
    }

    /// A context that tells progress where a token was given to tell it under.
    fn context(self: &Arc<Self>, token: &Value) -> Context {
        let (server, token) = (self.clone(), token.clone());
        Context::new(move |progress: Progress| {
            if !token.is_null() {
                server.tell(&token, &progress);
            }
        })
    }

    fn tell(&self, token: &Value, progress: &Progress) {
        let mut params = json!({ "progressToken": token, "progress": progress.done });
        if let Some(total) = progress.total {
            params["total"] = json!(total);
        }
        if !progress.message.is_empty() {
            params["message"] = json!(progress.message);
        }
        let method = "notifications/progress";
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn call(&self, index: usize, id: Value, params: Value, context: &Context) {
        let arguments = params
            .get("arguments")
            .cloned()
            .unwrap_or_else(|| json!({}));
        let tool = &self.tools[index];
        let outcome = catch_unwind(AssertUnwindSafe(|| tool.call(arguments, context)))
            .unwrap_or_else(|_| Err(ToolError::new("the tool broke off; its log says why")));
        let was_running = held(&self.running).remove(&id.to_string()).is_some();
        // Who cancels a call does not want its answer.
        if was_running && !context.is_cancelled() {
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result(outcome) }));
        }
    }

    fn cancel(&self, id: &Value) {
        if let Some(context) = held(&self.running).get(&id.to_string()) {
            context.cancel();
        }
    }

    fn end(&self) {
        held(&self.running).values().for_each(Context::cancel);
    }

    fn fail(&self, id: Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn send(&self, message: &Value) {
        let mut out = held(&self.out);
        // Nobody is left to tell where this fails.
        let _ = writeln!(out, "{}", message).and_then(|()| out.flush());
    }
}

fn result(outcome: Result<Value, ToolError>) -> Value {
    match outcome {
        Ok(value) => {
            let text = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let content = json!([{ "type": "text", "text": text }]);
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
