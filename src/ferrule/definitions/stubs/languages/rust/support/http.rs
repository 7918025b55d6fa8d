//! HTTP/1.1 over the standard library's sockets. Plain only: for https give the client a
//! `Transport` of your own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

/// How often a reader that waits asks whether anybody still wants the answer.
const PULSE: Duration = Duration::from_millis(50);
const CONNECTING: Duration = Duration::from_secs(10);
const LONGEST_LINE: u64 = 1 << 16;
const MOST_HEADERS: usize = 200;

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The whole address.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(&'static str, String)>,
    /// Empty where there is none.
    pub body: Vec<u8>,
}

/// An answer, whose body is still being sent.
pub struct Response {
    /// 200, 404, ….
    pub status: u16,
    /// Names in small letters, and values.
    pub headers: Vec<(String, String)>,
    /// Everything after the headers, with the transfer's own marks taken out.
    pub body: Box<dyn Read>,
}

impl Response {
    /// The value of a header, or empty.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(each, _)| each == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Says whether nobody wants the answer any more.
pub type IsOver = Arc<dyn Fn() -> bool + Send + Sync>;

/// Sends requests. Reading, of the answer's body too, has to end soon after `is_over` says so.
pub trait Transport: Send + Sync {
    /// The answer to a request.
    fn send(&self, request: &Request, is_over: &IsOver) -> io::Result<Response>;
}

/// A connection for each request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Transport for Plain {
    fn send(&self, request: &Request, is_over: &IsOver) -> io::Result<Response> {
        let address = Address::of(&request.url)?;
        let mut stream = address.connect()?;
        stream.set_read_timeout(Some(PULSE))?;
        stream.set_nodelay(true)?;
        stream.write_all(&head(request, &address)?)?;
        stream.write_all(&request.body)?;
        stream.flush()?;
        let is_over = is_over.clone();
        answered(BufReader::new(Watched { stream, is_over }))
    }
}

fn wrong(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    fn of(url: &str) -> io::Result<Self> {
        let rest = match url.strip_prefix("http://") {
            Some(rest) => rest,
            None => {
                return Err(wrong(
                    "only http:// is built in; give the client a Transport",
                ))
            }
        };
        let (place, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (place, "80"),
        };
        let port = port
            .parse()
            .map_err(|_| wrong("the address has a port that is no number"))?;
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_string();
        let is_plain = |byte: u8| byte > b' ' && byte < 127;
        if host.is_empty() || !url.bytes().all(is_plain) {
            return Err(wrong("the address is not one"));
        }
        Ok(Address {
            host,
            port,
            path: path.to_string(),
        })
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = wrong("the host has no address");
        for place in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, CONNECTING) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn head(request: &Request, address: &Address) -> io::Result<Vec<u8>> {
    let host = if address.host.contains(':') {
        format!("[{}]:{}", address.host, address.port)
    } else {
        format!("{}:{}", address.host, address.port)
    };
    let mut text = format!(
        "{} {} HTTP/1.1\r\nhost: {}\r\n",
        request.method, address.path, host
    );
    for (name, value) in &request.headers {
        if !value.bytes().all(|byte| (b' '..127).contains(&byte)) {
            return Err(wrong("a header has characters that no header may have"));
        }
        text.push_str(&format!("{}: {}\r\n", name, value));
    }
    text.push_str(&format!(
        "content-length: {}\r\nconnection: close\r\n\r\n",
        request.body.len()
    ));
    Ok(text.into_bytes())
}

/// A stream that stops waiting when nobody wants the answer.
struct Watched {
    stream: TcpStream,
    is_over: IsOver,
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(error) if is_pause(&error) => {
                    if (self.is_over)() {
                        let kind = io::ErrorKind::ConnectionAborted;
                        return Err(io::Error::new(kind, "nobody waits for the answer any more"));
                    }
                }
                other => return other,
            }
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn answered(mut from: BufReader<Watched>) -> io::Result<Response> {
    loop {
        let first = line(&mut from)?;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|word| word.parse::<u16>().ok());
        let status = status.ok_or_else(|| wrong("this is no answer of HTTP"))?;
        let mut headers = Vec::new();
        loop {
            let line = line(&mut from)?;
            if line.is_empty() {
                break;
            }
            if headers.len() == MOST_HEADERS {
                return Err(wrong("the answer has too many headers"));
            }
            let (name, value) = line.split_once(':').ok_or_else(|| wrong("a bad header"))?;
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_string()));
        }
        if status >= 200 {
            let body = body(status, &headers, from)?;
            return Ok(Response {
                status,
                headers,
                body,
            });
        }
    }
}

fn body(
    status: u16,
    headers: &[(String, String)],
    from: BufReader<Watched>,
) -> io::Result<Box<dyn Read>> {
    let of = |name: &str| {
        headers
            .iter()
            .find(|(each, _)| each == name)
            .map(|(_, value)| value)
    };
    if status == 204 || status == 304 {
        return Ok(Box::new(io::empty()));
    }
    if of("transfer-encoding").map_or(false, |value| value.eq_ignore_ascii_case("chunked")) {
        return Ok(Box::new(Chunked {
            from,
            left: 0,
            is_first: true,
            is_over: false,
        }));
    }
    match of("content-length").map(|value| value.parse::<u64>()) {
        Some(Ok(length)) => Ok(Box::new(from.take(length))),
        Some(Err(_)) => Err(wrong("the answer has a length that is no number")),
        None => Ok(Box::new(from)),
    }
}

fn line(from: &mut BufReader<Watched>) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.by_ref()
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the answer ends too early",
        ));
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A body in chunks, each after its length.
struct Chunked {
    from: BufReader<Watched>,
    left: u64,
    is_first: bool,
    is_over: bool,
}

impl Read for Chunked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_over {
            if !self.is_first {
                line(&mut self.from)?;
            }
            self.is_first = false;
            let head = line(&mut self.from)?;
            let digits = head.split(';').next().unwrap_or("").trim();
            self.left = u64::from_str_radix(digits, 16).map_err(|_| wrong("a bad chunk"))?;
            self.is_over = self.left == 0;
        }
        if self.is_over || into.is_empty() {
            return Ok(0);
        }
        let most = into
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.from.read(&mut into[..most])?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the answer ends too early",
            ));
        }
        self.left -= count as u64;
        Ok(count)
    }
}
