//! JSON text into values, strictly.
//!
//! A number without a fraction is an integer however it is written (`1`, `1.0`, `1e2`), so the
//! types beside this file see one spelling of it; a fraction is read to the nearest `f64`.

use serde_json::{Map, Number, Value};

use super::schema::Mismatch;

/// How deep lists and objects may stand in each other.
const DEEPEST: usize = 128;
const DEEPEST_SCHEMA: usize = 400;

/// The value of a JSON text. Of members with the same name the last one stays.
pub fn parse(text: &[u8]) -> Result<Value, Mismatch> {
    read(text, DEEPEST, false)
}

/// The schema of a JSON text. A number beyond every `f64` is the largest one here, which no
/// number of a value is beyond either.
pub fn parse_schema(text: &[u8]) -> Result<Value, Mismatch> {
    read(text, DEEPEST_SCHEMA, true)
}

fn read(text: &[u8], deepest: usize, is_schema: bool) -> Result<Value, Mismatch> {
    let text = std::str::from_utf8(text).map_err(|_| Mismatch::new("the text is not UTF-8"))?;
    let mut reader = Reader {
        text,
        at: 0,
        deepest,
        is_schema,
    };
    let value = reader.value(0)?;
    reader.skip();
    if reader.at < text.len() {
        return Err(reader.wrong("the end of the text"));
    }
    Ok(value)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    deepest: usize,
    is_schema: bool,
}

impl Reader<'_> {
    fn wrong(&self, expected: &str) -> Mismatch {
        Mismatch::new(format!(
            "this is no JSON: {} expected at byte {}",
            expected, self.at
        ))
    }

    fn peek(&self) -> u8 {
        *self.text.as_bytes().get(self.at).unwrap_or(&0)
    }

    fn skip(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_there = self.text[self.at..].starts_with(word);
        if is_there {
            self.at += word.len();
        }
        is_there
    }

    fn value(&mut self, depth: usize) -> Result<Value, Mismatch> {
        if depth > self.deepest {
            return Err(Mismatch::new("the value is nested too deeply"));
        }
        self.skip();
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            b't' if self.takes("true") => Ok(Value::Bool(true)),
            b'f' if self.takes("false") => Ok(Value::Bool(false)),
            b'n' if self.takes("null") => Ok(Value::Null),
            _ => Err(self.wrong("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Mismatch> {
        let mut members = Map::new();
        self.at += 1;
        self.skip();
        if self.takes("}") {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip();
            if self.peek() != b'"' {
                return Err(self.wrong("the name of a member"));
            }
            let name = self.string()?;
            self.skip();
            if !self.takes(":") {
                return Err(self.wrong("':'"));
            }
            let value = self.value(depth + 1)?;
            members.insert(name, value);
            self.skip();
            if self.takes("}") {
                return Ok(Value::Object(members));
            }
            if !self.takes(",") {
                return Err(self.wrong("',' or '}'"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Mismatch> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip();
        if self.takes("]") {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip();
            if self.takes("]") {
                return Ok(Value::Array(items));
            }
            if !self.takes(",") {
                return Err(self.wrong("',' or ']'"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Mismatch> {
        let mut made = String::new();
        self.at += 1;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest
                .iter()
                .take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=31));
            let count = plain.count();
            made.push_str(&self.text[self.at..self.at + count]);
            self.at += count;
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(made);
                }
                b'\\' => made.push(self.escape()?),
                _ => return Err(self.wrong("'\"'")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Mismatch> {
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.wrong("an escape")),
        })
    }

    fn unicode(&mut self) -> Result<char, Mismatch> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.wrong("a character"));
        }
        if !self.takes("\\u") {
            return Err(self.wrong("the second half of a character"));
        }
        let second = self.unit()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.wrong("the second half of a character"));
        }
        let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(point).ok_or_else(|| self.wrong("a character"))
    }

    fn unit(&mut self) -> Result<u32, Mismatch> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
        if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.wrong("four hexadecimal digits"));
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.wrong("four hexadecimal digits"))
    }

    fn digits(&mut self) -> Result<&str, Mismatch> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.wrong("a digit"));
        }
        Ok(&self.text[start..self.at])
    }

    fn number(&mut self) -> Result<Number, Mismatch> {
        let start = self.at;
        let is_negative = self.takes("-");
        let whole = self.digits()?.to_string();
        if whole.len() > 1 && whole.starts_with('0') {
            return Err(self.wrong("a number without leading zeros"));
        }
        let mut fraction = String::new();
        if self.takes(".") {
            fraction = self.digits()?.to_string();
        }
        let mut exponent = 0;
        if self.takes("e") || self.takes("E") {
            let sign = if self.takes("-") { -1 } else { 1 };
            if sign > 0 {
                self.takes("+");
            }
            exponent = sign * self.digits()?.parse::<i64>().unwrap_or(i64::MAX / 2);
        }
        if let Some(number) = integer(is_negative, &whole, &fraction, exponent) {
            return Ok(number);
        }
        let float = self.text[start..self.at]
            .parse::<f64>()
            .unwrap_or(f64::INFINITY);
        let float = match self.is_schema {
            true => float.clamp(f64::MIN, f64::MAX),
            false => float,
        };
        Number::from_f64(float).ok_or_else(|| self.wrong("a number that a double can hold"))
    }
}

/// The number of these digits, if it has no fraction and 64 bits hold it.
fn integer(is_negative: bool, whole: &str, fraction: &str, exponent: i64) -> Option<Number> {
    let mut digits = format!("{}{}", whole, fraction);
    let mut zeros = exponent - fraction.len() as i64;
    while zeros < 0 && digits.ends_with('0') {
        digits.pop();
        zeros += 1;
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(Number::from(0));
    }
    if !(0..=20).contains(&zeros) || digits.len() > 20 {
        return None;
    }
    let sign = if is_negative { "-" } else { "" };
    let text = format!("{}{}{}", sign, digits, "0".repeat(zeros as usize));
    let signed = text.parse::<i64>().ok().map(Number::from);
    signed.or_else(|| text.parse::<u64>().ok().map(Number::from))
}
