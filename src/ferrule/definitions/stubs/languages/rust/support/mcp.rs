//! Serves tools over standard input and output as the Model Context Protocol says: one JSON-RPC
//! message a line, each call a task of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{json, Value};
use tokio::io::{self, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Context, Tool, ToolError};

const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Serves tools until standard input ends. Calls that run then are waited for and answered.
pub async fn serve(name: &str, version: &str, tools: Vec<Tool>) {
    let (out, mut written) = unbounded_channel::<String>();
    let writer = tokio::spawn(async move {
        let mut to = io::stdout();
        while let Some(line) = written.recv().await {
            let written = to.write_all(format!("{line}\n").as_bytes()).await;
            if written.is_err() || to.flush().await.is_err() {
                break;
            }
        }
    });
    let about = json!({ "name": name, "version": version });
    let server = Server {
        about: json!({ "capabilities": { "tools": {} }, "serverInfo": about }),
        tools,
        out,
        running: Arc::default(),
    };
    let mut lines = BufReader::new(io::stdin()).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        if !line.iter().all(u8::is_ascii_whitespace) {
            server.take(&line);
        }
    }
    // The writer ends when nobody can write any more: the server and the calls that run.
    drop(server);
    let _ = timeout(Duration::from_secs(10), writer).await;
}

struct Server {
    about: Value,
    tools: Vec<Tool>,
    out: UnboundedSender<String>,
    /// The calls that have not ended, by the ids of their requests. Each ends when it is taken out.
    running: Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>,
}

impl Server {
    /// Answers a message; a call later.
    fn take(&self, line: &[u8]) {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return self.fail(&Value::Null, -32700, &error.to_string()),
        };
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let (id, params) = (message.get("id"), &message["params"]);
        match (message["method"].as_str(), id) {
            (Some("notifications/cancelled"), _) => {
                let key = params["requestId"].to_string();
                self.running.lock().unwrap().remove(&key);
            }
            (Some("tools/call"), Some(id)) => self.start(id, params),
            (Some("tools/list"), Some(id)) => {
                let tools: Vec<_> = self.tools.iter().map(listed).collect();
                let result = format!("{{\"tools\":[{}]}}", tools.join(","));
                self.send(id, "result", &result);
            }
            (Some("initialize"), Some(id)) => {
                let is_asked = |each: &&&str| params["protocolVersion"] == **each;
                let revision = REVISIONS.iter().find(is_asked).unwrap_or(&REVISIONS[0]);
                let mut result = self.about.clone();
                result["protocolVersion"] = json!(revision);
                self.send(id, "result", &result);
            }
            (Some("ping"), Some(id)) => self.send(id, "result", &json!({})),
            (Some(_), Some(id)) => self.fail(id, -32601, "there is no such method"),
            (None, id) if !is_answer => {
                self.fail(id.unwrap_or(&Value::Null), -32600, "it has no method");
            }
            _ => {}
        }
    }

    fn start(&self, id: &Value, params: &Value) {
        let named = |tool: &&Tool| params["name"] == tool.descriptor.name;
        let tool = match self.tools.iter().find(named) {
            Some(tool) => tool,
            None => return self.fail(id, -32602, &format!("Unknown tool: {}", params["name"])),
        };
        let key = id.to_string();
        let mut running = self.running.lock().unwrap();
        if running.contains_key(&key) {
            return self.fail(id, -32600, "a call with this id is still running");
        }
        let (end, is_over) = oneshot::channel();
        running.insert(key.clone(), end);
        let token = params["_meta"].get("progressToken");
        let listener = token.map(|token| (self.out.clone(), token.clone()));
        let arguments = params.get("arguments").unwrap_or(&json!({})).clone();
        let mut call = tokio::spawn(tool.call(arguments, Context { listener }));
        let (out, shared, id) = (self.out.clone(), self.running.clone(), id.clone());
        tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = &mut call => outcome,
                _ = is_over => return call.abort(), // nobody wants its answer
            };
            shared.lock().unwrap().remove(&key);
            let broken = |_| Err(ToolError::new("the tool panicked; its log says why"));
            let result = result(outcome.unwrap_or_else(broken));
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            let _ = out.send(answer.to_string());
        });
    }

    fn fail(&self, id: &Value, code: i64, message: &str) {
        self.send(id, "error", &json!({ "code": code, "message": message }));
    }

    fn send(&self, id: &Value, member: &str, value: &dyn std::fmt::Display) {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":{value}}}");
        let _ = self.out.send(line); // nobody is left to tell where this fails
    }
}

/// A tool as clients see it: its schemas as they were written, on one line.
fn listed(tool: &Tool) -> String {
    let tool = &tool.descriptor;
    let one_line = |schema: &str| schema.lines().map(str::trim).collect::<String>();
    let (name, title, description) = (json!(tool.name), json!(tool.title), json!(tool.description));
    let mut text = format!("{{\"name\":{name},\"title\":{title},\"description\":{description}");
    text += &format!(",\"inputSchema\":{}", one_line(tool.input_schema));
    if let Some(schema) = tool.output_schema {
        text += &format!(",\"outputSchema\":{}", one_line(schema));
    }
    text + "}"
}

fn result(outcome: Result<Value, ToolError>) -> Value {
    let (value, is_error) = match outcome {
        Ok(value) => (value, false),
        Err(error) => (Value::String(error.message), true),
    };
    let text = value.as_str().map_or(value.to_string(), String::from);
    let mut made = json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
    if value.is_object() {
        made["structuredContent"] = value;
    }
    made
}
