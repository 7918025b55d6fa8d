//! Patterns as small programs, and the machine that runs them.

use std::cell::Cell;
use std::collections::HashSet;

use super::pattern::{is_word, Class, Node};

/// A match that takes more steps than this is given up, and the text does not match.
const MOST_STEPS: usize = 2_000_000;
/// A program longer than this is refused.
const LONGEST: usize = 300_000;

enum Step {
    One(usize),
    Split(usize, usize),
    Jump(usize),
    Start,
    End,
    Boundary(bool),
    Look {
        end: usize,
        is_behind: bool,
        is_wanted: bool,
    },
    Save(usize),
    Again(usize),
    Mark(usize),
    Moved(usize),
    Match,
}

/// A compiled pattern.
pub struct Program {
    steps: Vec<Step>,
    classes: Vec<Class>,
    groups: usize,
    marks: usize,
    has_references: bool,
}

impl Program {
    /// The program of a pattern with so many groups.
    pub fn new(node: &Node, groups: usize, names: &[(String, usize)]) -> Result<Self, String> {
        let mut program = Program {
            steps: Vec::new(),
            classes: Vec::new(),
            groups,
            marks: 0,
            has_references: false,
        };
        program.write(node, names)?;
        program.steps.push(Step::Match);
        Ok(program)
    }

    /// Whether the pattern matches somewhere in a text.
    pub fn is_in(&self, text: &[char]) -> bool {
        let steps_left = Cell::new(MOST_STEPS);
        let mut run = Run {
            program: self,
            text,
            steps_left: &steps_left,
            dead: HashSet::new(),
        };
        (0..=text.len()).any(|start| run.matches(0, start, None, &mut self.blank()))
    }

    fn blank(&self) -> Vec<Option<usize>> {
        vec![None; self.groups * 2 + 2 + self.marks]
    }

    fn write(&mut self, node: &Node, names: &[(String, usize)]) -> Result<(), String> {
        if self.steps.len() > LONGEST {
            return Err("the pattern is too large".to_string());
        }
        match node {
            Node::Start => self.steps.push(Step::Start),
            Node::End => self.steps.push(Step::End),
            Node::Boundary { is_wanted } => self.steps.push(Step::Boundary(*is_wanted)),
            Node::One(class) => {
                self.classes.push(class.clone());
                self.steps.push(Step::One(self.classes.len() - 1));
            }
            Node::Sequence(nodes) => {
                for node in nodes {
                    self.write(node, names)?;
                }
            }
            Node::Alternatives(nodes) => self.alternatives(nodes, names)?,
            Node::Group { node, number } => {
                self.steps.push(Step::Save(number * 2));
                self.write(node, names)?;
                self.steps.push(Step::Save(number * 2 + 1));
            }
            Node::Look {
                node,
                is_behind,
                is_wanted,
            } => {
                let at = self.steps.len();
                self.steps.push(Step::Match);
                self.write(node, names)?;
                self.steps.push(Step::Match);
                let (end, is_behind, is_wanted) = (self.steps.len(), *is_behind, *is_wanted);
                self.steps[at] = Step::Look {
                    end,
                    is_behind,
                    is_wanted,
                };
            }
            Node::Again(number) => self.again(*number)?,
            Node::AgainNamed(name) => match names.iter().find(|(each, _)| each == name) {
                Some((_, number)) => self.again(*number)?,
                None => return Err(format!("there is no group {}", name)),
            },
            Node::Repeat {
                node,
                fewest,
                most,
                is_lazy,
            } => {
                self.repeat(node, *fewest, *most, *is_lazy, names)?;
            }
        }
        Ok(())
    }

    fn again(&mut self, number: usize) -> Result<(), String> {
        if number > self.groups {
            return Err(format!("there is no group {}", number));
        }
        self.has_references = true;
        self.steps.push(Step::Again(number));
        Ok(())
    }

    fn alternatives(&mut self, nodes: &[Node], names: &[(String, usize)]) -> Result<(), String> {
        let mut ends = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let at = self.steps.len();
            if index + 1 < nodes.len() {
                self.steps.push(Step::Match);
            }
            self.write(node, names)?;
            if index + 1 < nodes.len() {
                ends.push(self.steps.len());
                self.steps.push(Step::Match);
                self.steps[at] = Step::Split(at + 1, self.steps.len());
            }
        }
        for at in ends {
            self.steps[at] = Step::Jump(self.steps.len());
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        fewest: usize,
        most: Option<usize>,
        is_lazy: bool,
        names: &[(String, usize)],
    ) -> Result<(), String> {
        for _ in 0..fewest {
            self.write(node, names)?;
        }
        let mut splits = Vec::new();
        for _ in fewest..most.unwrap_or(fewest) {
            splits.push(self.steps.len());
            self.steps.push(Step::Match);
            self.write(node, names)?;
        }
        if most.is_none() {
            let (at, mark) = (self.steps.len(), self.groups * 2 + 2 + self.marks);
            self.marks += 1;
            splits.push(at);
            self.steps.extend([Step::Match, Step::Mark(mark)]);
            self.write(node, names)?;
            self.steps.extend([Step::Moved(mark), Step::Jump(at)]);
        }
        let end = self.steps.len();
        for at in splits {
            let (on, out) = (at + 1, end);
            self.steps[at] = if is_lazy {
                Step::Split(out, on)
            } else {
                Step::Split(on, out)
            };
        }
        Ok(())
    }
}

struct Run<'p> {
    program: &'p Program,
    text: &'p [char],
    steps_left: &'p Cell<usize>,
    /// Where a choice was made that led nowhere. Of no use where groups are referred to, since
    /// what follows then depends on more than the place.
    dead: HashSet<(usize, usize)>,
}

impl Run<'_> {
    /// Whether the program matches from a step and a place, and where `end` says, ends there.
    fn matches(
        &mut self,
        from: usize,
        start: usize,
        end: Option<usize>,
        saved: &mut Vec<Option<usize>>,
    ) -> bool {
        let has_references = self.program.has_references;
        let mut waiting = vec![(from, start, None)];
        while let Some((mut step, mut at, kept)) = waiting.pop() {
            if let Some(kept) = kept {
                *saved = kept;
            }
            loop {
                if self.steps_left.get() == 0 {
                    return false;
                }
                self.steps_left.set(self.steps_left.get() - 1);
                match &self.program.steps[step] {
                    Step::Match if end.map_or(true, |end| end == at) => return true,
                    Step::Match => break,
                    Step::Split(first, second) => {
                        if !has_references && !self.dead.insert((step, at)) {
                            break;
                        }
                        let kept = has_references.then(|| saved.clone());
                        waiting.push((*second, at, kept));
                        step = *first;
                    }
                    Step::Jump(to) => step = *to,
                    Step::Look {
                        end,
                        is_behind,
                        is_wanted,
                    } => {
                        if self.looks(step + 1, at, *is_behind, saved) != *is_wanted {
                            break;
                        }
                        step = *end;
                    }
                    other => match self.moved(other, at, saved) {
                        Some(to) => (step, at) = (step + 1, to),
                        None => break,
                    },
                }
            }
        }
        false
    }

    /// Where a simple step leads.
    fn moved(&self, step: &Step, at: usize, saved: &mut [Option<usize>]) -> Option<usize> {
        let before = at
            .checked_sub(1)
            .map_or(false, |index| is_word(self.text[index]));
        let after = self.text.get(at).copied();
        let is_passed = match step {
            Step::One(class) => {
                let is_one = after.map_or(false, |one| self.program.classes[*class].has(one));
                return is_one.then(|| at + 1);
            }
            Step::Again(number) => return self.again(*number, at, saved),
            Step::Save(slot) | Step::Mark(slot) => {
                saved[*slot] = Some(at);
                true
            }
            Step::Moved(slot) => !self.program.has_references || saved[*slot] != Some(at),
            Step::Start => at == 0,
            Step::End => at == self.text.len(),
            Step::Boundary(is_wanted) => (before != after.map_or(false, is_word)) == *is_wanted,
            _ => false,
        };
        is_passed.then_some(at)
    }

    fn again(&self, number: usize, at: usize, saved: &[Option<usize>]) -> Option<usize> {
        let (start, end) = match (saved[number * 2], saved[number * 2 + 1]) {
            (Some(start), Some(end)) if start <= end => (start, end),
            _ => return Some(at),
        };
        let captured = &self.text[start..end];
        self.text[at..]
            .starts_with(captured)
            .then(|| at + captured.len())
    }

    fn looks(
        &mut self,
        from: usize,
        at: usize,
        is_behind: bool,
        saved: &mut Vec<Option<usize>>,
    ) -> bool {
        let mut run = Run {
            dead: HashSet::new(),
            ..*self
        };
        if !is_behind {
            return run.matches(from, at, None, saved);
        }
        (0..=at).rev().any(|start| {
            run.dead.clear();
            run.matches(from, start, Some(at), &mut saved.clone())
        })
    }
}
