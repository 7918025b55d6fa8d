//! Regular expressions as JSON Schema has them (ECMA-262), read into a tree.
//!
//! The standard library has none. These are matched in `machine.rs` by trying one way after the
//! other, with every dead end remembered, so that no pattern takes more than its share of time.

use std::sync::Arc;

use super::categories;
use super::machine::Program;

/// How deep groups may stand in each other.
const DEEPEST: usize = 100;

/// A compiled pattern.
pub struct Pattern {
    program: Program,
}

impl Pattern {
    /// The pattern of a text, or what of it this program cannot read.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            text: text.chars().collect(),
            ..Parser::default()
        };
        let node = parser.alternatives(0)?;
        if parser.at < parser.text.len() {
            return Err("an unmatched ')'".to_string());
        }
        let program = Program::new(&node, parser.groups, &parser.names)?;
        Ok(Pattern { program })
    }

    /// Whether the pattern matches somewhere in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.program.is_in(&text.chars().collect::<Vec<char>>())
    }
}

/// A part of a pattern.
pub enum Node {
    Start,
    End,
    Boundary {
        is_wanted: bool,
    },
    One(Class),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Repeat {
        node: Box<Node>,
        fewest: usize,
        most: Option<usize>,
        is_lazy: bool,
    },
    Group {
        node: Box<Node>,
        number: usize,
    },
    Look {
        node: Box<Node>,
        is_behind: bool,
        is_wanted: bool,
    },
    Again(usize),
    AgainNamed(String),
}

/// A set of characters.
#[derive(Clone, Default)]
pub struct Class {
    items: Vec<Item>,
    is_negated: bool,
    is_folded: bool,
}

#[derive(Clone)]
enum Item {
    Range(char, char),
    Digit(bool),
    Word(bool),
    Space(bool),
    Category(Arc<Vec<(u32, u32)>>, bool),
    Anything,
}

impl Class {
    fn of(item: Item) -> Self {
        Class {
            items: vec![item],
            ..Class::default()
        }
    }

    /// Whether a character is in the set.
    pub fn has(&self, one: char) -> bool {
        let is_listed = |one: char| self.items.iter().any(|item| item.has(one));
        let is_found = is_listed(one)
            || (self.is_folded && one.to_lowercase().chain(one.to_uppercase()).any(is_listed));
        is_found != self.is_negated
    }
}

impl Item {
    fn has(&self, one: char) -> bool {
        match self {
            Item::Range(first, last) => *first <= one && one <= *last,
            Item::Digit(is_wanted) => one.is_ascii_digit() == *is_wanted,
            Item::Word(is_wanted) => is_word(one) == *is_wanted,
            Item::Space(is_wanted) => is_space(one) == *is_wanted,
            Item::Category(ranges, is_wanted) => is_within(ranges, one) == *is_wanted,
            Item::Anything => !matches!(one, '\n' | '\r' | '\u{2028}' | '\u{2029}'),
        }
    }
}

/// Whether a character is one of `\w`.
pub fn is_word(one: char) -> bool {
    one.is_ascii_alphanumeric() || one == '_'
}

fn is_space(one: char) -> bool {
    (one.is_whitespace() && one != '\u{85}') || one == '\u{feff}'
}

fn is_within(ranges: &[(u32, u32)], one: char) -> bool {
    let index = ranges.partition_point(|range| range.1 < one as u32);
    ranges
        .get(index)
        .map_or(false, |range| range.0 <= one as u32)
}

#[derive(Default)]
struct Parser {
    text: Vec<char>,
    at: usize,
    groups: usize,
    names: Vec<(String, usize)>,
    is_folded: bool,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, word: &str) -> bool {
        let length = word.chars().count();
        let is_there = self.text[self.at..]
            .iter()
            .copied()
            .take(length)
            .eq(word.chars());
        if is_there {
            self.at += length;
        }
        is_there
    }

    fn next(&mut self) -> Result<char, String> {
        let one = self.peek().ok_or("the pattern ends too early")?;
        self.at += 1;
        Ok(one)
    }

    fn alternatives(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err("groups are nested too deeply".to_string());
        }
        let mut all = vec![self.sequence(depth)?];
        while self.takes("|") {
            all.push(self.sequence(depth)?);
        }
        match all.pop() {
            Some(node) if all.is_empty() => Ok(node),
            last => Ok(Node::Alternatives(all.into_iter().chain(last).collect())),
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<Node, String> {
        let mut nodes = Vec::new();
        while !matches!(self.peek(), None | Some('|') | Some(')')) {
            let mut node = self.term(depth)?;
            if let Node::One(class) = &mut node {
                class.is_folded = self.is_folded;
            }
            nodes.push(self.repeated(node)?);
        }
        Ok(Node::Sequence(nodes))
    }

    fn repeated(&mut self, node: Node) -> Result<Node, String> {
        let (fewest, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts() {
                Some((counts, length)) => {
                    self.at += length - 1;
                    counts
                }
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        self.at += 1;
        let is_lazy = self.takes("?");
        if most.map_or(false, |most| most < fewest) {
            return Err("a repetition with its bounds the wrong way round".to_string());
        }
        Ok(Node::Repeat {
            node: Box::new(node),
            fewest,
            most,
            is_lazy,
        })
    }

    /// The bounds of `{2,5}`, if that is what stands here, and how long they are.
    fn counts(&self) -> Option<((usize, Option<usize>), usize)> {
        let rest = &self.text[self.at + 1..];
        let length = rest.iter().position(|one| *one == '}')?;
        let inside: String = rest[..length].iter().collect();
        let bounds = match inside.split_once(',') {
            None => (number(&inside)?, Some(number(&inside)?)),
            Some((fewest, "")) => (number(fewest)?, None),
            Some((fewest, most)) => (number(fewest)?, Some(number(most)?)),
        };
        Some((bounds, length + 2))
    }

    fn term(&mut self, depth: usize) -> Result<Node, String> {
        let one = self.next()?;
        Ok(match one {
            '^' => Node::Start,
            '$' => Node::End,
            '.' => Node::One(Class::of(Item::Anything)),
            '(' => return self.group(depth),
            '[' => Node::One(self.class()?),
            '\\' => return self.escaped(),
            '*' | '+' | '?' => return Err("a repetition of nothing".to_string()),
            _ => Node::One(Class::of(Item::Range(one, one))),
        })
    }

    fn group(&mut self, depth: usize) -> Result<Node, String> {
        let looks = [
            ("?=", false, true),
            ("?!", false, false),
            ("?<=", true, true),
        ];
        let looks = looks.into_iter().chain([("?<!", true, false)]);
        for (mark, is_behind, is_wanted) in looks {
            if self.takes(mark) {
                let node = Box::new(self.closed(depth)?);
                return Ok(Node::Look {
                    node,
                    is_behind,
                    is_wanted,
                });
            }
        }
        if self.takes("?:") {
            return self.closed(depth);
        }
        if self.takes("?i)") {
            self.is_folded = true;
            return Ok(Node::Sequence(Vec::new()));
        }
        self.groups += 1;
        let number = self.groups;
        if self.takes("?<") || self.takes("?P<") {
            let name = self.name('>')?;
            self.names.push((name, number));
        } else if self.peek() == Some('?') {
            return Err("a group of an unknown kind".to_string());
        }
        Ok(Node::Group {
            node: Box::new(self.closed(depth)?),
            number,
        })
    }

    fn closed(&mut self, depth: usize) -> Result<Node, String> {
        let node = self.alternatives(depth + 1)?;
        if self.takes(")") {
            Ok(node)
        } else {
            Err("a group without its end".to_string())
        }
    }

    fn name(&mut self, end: char) -> Result<String, String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                one if one == end => return Ok(name),
                one => name.push(one),
            }
        }
    }

    fn escaped(&mut self) -> Result<Node, String> {
        match self.peek() {
            Some('b') | Some('B') => {
                let is_wanted = self.next()? == 'b';
                Ok(Node::Boundary { is_wanted })
            }
            Some('A') if self.takes("A") => Ok(Node::Start),
            Some('z') if self.takes("z") => Ok(Node::End),
            Some('k') if self.takes("k<") => Ok(Node::AgainNamed(self.name('>')?)),
            Some('1'..='9') => {
                let mut digits = String::new();
                while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                    digits.push(digit);
                    self.at += 1;
                }
                Ok(Node::Again(
                    number(&digits).ok_or("a group of too large a number")?,
                ))
            }
            _ => Ok(Node::One(Class::of(self.escape()?))),
        }
    }

    /// What an escape stands for, inside a class and outside it.
    fn escape(&mut self) -> Result<Item, String> {
        let one = self.next()?;
        let meant = match one {
            'd' | 'D' => return Ok(Item::Digit(one == 'd')),
            'w' | 'W' => return Ok(Item::Word(one == 'w')),
            's' | 'S' => return Ok(Item::Space(one == 's')),
            'p' | 'P' => return self.category(one == 'p'),
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'a' => '\u{7}',
            '0' => '\0',
            'c' => char::from((self.next()? as u32 % 32) as u8),
            'x' => self.code(2)?,
            'u' => self.unicode()?,
            _ if one.is_alphanumeric() => return Err(format!("the escape \\{}", one)),
            _ => one,
        };
        Ok(Item::Range(meant, meant))
    }

    fn category(&mut self, is_wanted: bool) -> Result<Item, String> {
        let name = match self.next()? {
            '{' => self.name('}')?,
            one => one.to_string(),
        };
        match categories::ranges(&name) {
            Some(ranges) => Ok(Item::Category(Arc::new(ranges), is_wanted)),
            None => Err(format!("the category {}", name)),
        }
    }

    fn hexadecimal(&mut self, length: usize) -> Result<u32, String> {
        let end = (self.at + length).min(self.text.len());
        let digits: String = self.text[self.at..end].iter().collect();
        self.at = end;
        u32::from_str_radix(&digits, 16).map_err(|_| "a character's number".to_string())
    }

    fn code(&mut self, length: usize) -> Result<char, String> {
        let point = self.hexadecimal(length)?;
        char::from_u32(point).ok_or_else(|| "half a character".to_string())
    }

    fn unicode(&mut self) -> Result<char, String> {
        if self.takes("{") {
            let digits = self.name('}')?;
            let point = u32::from_str_radix(&digits, 16).map_err(|error| error.to_string())?;
            return char::from_u32(point).ok_or_else(|| "no such character".to_string());
        }
        let first = self.hexadecimal(4)?;
        if (0xd800..0xdc00).contains(&first) && self.takes("\\u") {
            let second = self.hexadecimal(4)?.wrapping_sub(0xdc00);
            let point = 0x10000 + ((first - 0xd800) << 10) + (second & 0x3ff);
            return char::from_u32(point).ok_or_else(|| "no such character".to_string());
        }
        char::from_u32(first).ok_or_else(|| "half a character".to_string())
    }

    fn class(&mut self) -> Result<Class, String> {
        let mut class = Class {
            is_negated: self.takes("^"),
            ..Class::default()
        };
        // `[]a]` begins with a bracket that is meant, as the validator of calls reads it.
        let mut is_first = self.text[self.at..]
            .iter()
            .filter(|one| **one == ']')
            .count()
            > 1;
        while is_first || !self.takes("]") {
            is_first = false;
            let first = self.class_item()?;
            let is_range =
                self.peek() == Some('-') && !matches!(self.text.get(self.at + 1), None | Some(']'));
            match first {
                Item::Range(start, _) if is_range => {
                    self.at += 1;
                    match self.class_item()? {
                        Item::Range(end, _) if start <= end => {
                            class.items.push(Item::Range(start, end));
                        }
                        Item::Range(..) => return Err("a range from high to low".to_string()),
                        other => {
                            class.items.push(first);
                            class.items.push(Item::Range('-', '-'));
                            class.items.push(other);
                        }
                    }
                }
                item => class.items.push(item),
            }
        }
        Ok(class)
    }

    fn class_item(&mut self) -> Result<Item, String> {
        match self.next()? {
            '\\' if self.takes("b") => Ok(Item::Range('\u{8}', '\u{8}')),
            '\\' if self.takes("-") => Ok(Item::Range('-', '-')),
            '\\' => self.escape(),
            one => Ok(Item::Range(one, one)),
        }
    }
}

fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}
