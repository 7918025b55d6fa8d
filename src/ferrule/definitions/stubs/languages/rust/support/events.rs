//! Server-sent events: how a call tells its progress and its end.

use std::io::{self, BufRead, BufReader, Read};

/// One event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// What it is called: `progress`, `result`.
    pub name: String,
    /// What it says, as JSON.
    pub data: String,
}

/// The events of a stream.
pub struct Events<R> {
    from: BufReader<R>,
}

impl<R: Read> Events<R> {
    /// Of the body of an answer.
    pub fn new(from: R) -> Self {
        Events {
            from: BufReader::new(from),
        }
    }

    /// The next event, or nothing at the end of the stream.
    pub fn event(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut has_data = false;
        loop {
            let mut bytes = Vec::new();
            if self.from.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&bytes);
            let line = text.trim_end_matches(['\n', '\r']);
            if line.is_empty() && has_data {
                return Ok(Some(event));
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event.name = value.to_string(),
                "data" => {
                    if has_data {
                        event.data.push('\n');
                    }
                    has_data = true;
                    event.data.push_str(value);
                }
                _ => {}
            }
        }
    }
}
