package support

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// patternSteps bounds the search of a pattern that looks around or refers back: what takes longer does not match.
const patternSteps = 1_000_000

var patterns sync.Map

type compiledPattern struct {
	linear       *regexp.Regexp
	tree         *patternNode
	groups       int
	isFoldedCase bool
	err          error
}

// patternOf compiles a pattern, once.
func patternOf(text string) (*compiledPattern, error) {
	if found, ok := patterns.Load(text); ok {
		pattern := found.(*compiledPattern)
		return pattern, pattern.err
	}
	made := compilePattern(text)
	patterns.Store(text, made)
	return made, made.err
}

func compilePattern(text string) *compiledPattern {
	reader, tree, err := readPattern(text)
	if err != nil {
		return &compiledPattern{err: err}
	}
	made := &compiledPattern{tree: tree, groups: reader.groups, isFoldedCase: reader.isFoldedCase}
	if !reader.needsSearch {
		var out strings.Builder
		if made.isFoldedCase {
			out.WriteString("(?i)")
		}
		writeLinear(&out, tree)
		// What is too large for the linear matcher is searched.
		made.linear, _ = regexp.Compile(out.String())
	}
	return made
}

// matches says whether the pattern is found anywhere in a text.
func (c *compiledPattern) matches(text string) bool {
	if c.linear != nil {
		return c.linear.MatchString(text)
	}
	search := &patternSearch{text: []rune(text), groups: make([][2]int, c.groups+1), isFoldedCase: c.isFoldedCase}
	for at := 0; at <= len(search.text) && search.steps <= patternSteps; at++ {
		search.forget()
		if search.match(c.tree, at, func(int) bool { return true }) {
			return true
		}
	}
	return false
}

func writeLinear(out *strings.Builder, node *patternNode) {
	switch node.kind {
	case patternSet:
		writeLinearSet(out, &node.set)
	case patternStart:
		out.WriteString(`\A`)
	case patternEnd:
		out.WriteString(`\z`)
	case patternBoundary:
		out.WriteString(map[bool]string{false: `\b`, true: `\B`}[node.isNegated])
	case patternRepeat:
		writeLinear(out, group(node.parts[0]))
		writeLinearCount(out, node)
	default:
		between := ""
		if node.kind == patternChoice {
			between = "|"
		}
		out.WriteString("(?:")
		for number, part := range node.parts {
			if number > 0 {
				out.WriteString(between)
			}
			writeLinear(out, part)
		}
		out.WriteString(")")
	}
}

func group(node *patternNode) *patternNode {
	return &patternNode{kind: patternGroup, parts: []*patternNode{node}}
}

func writeLinearCount(out *strings.Builder, node *patternNode) {
	if node.most < 0 {
		fmt.Fprintf(out, "{%d,}", node.least)
	} else {
		fmt.Fprintf(out, "{%d,%d}", node.least, node.most)
	}
}

func writeLinearSet(out *strings.Builder, set *runeSet) {
	if len(set.ranges) == 0 && len(set.tables) == 0 {
		out.WriteString(map[bool]string{false: `[^\x00-\x{10FFFF}]`, true: `[\x00-\x{10FFFF}]`}[set.isNegated])
		return
	}
	out.WriteString("[")
	if set.isNegated {
		out.WriteString("^")
	}
	for _, each := range set.ranges {
		fmt.Fprintf(out, `\x{%X}-\x{%X}`, each.from, each.to)
	}
	for _, each := range set.tables {
		fmt.Fprintf(out, `\%s{%s}`, map[bool]string{false: "p", true: "P"}[each.isNegated], each.name)
	}
	out.WriteString("]")
}

// patternSearch tries every way in which a pattern may match, within patternSteps.
type patternSearch struct {
	text         []rune
	groups       [][2]int
	steps        int
	isFoldedCase bool
}

func (s *patternSearch) forget() {
	for number := range s.groups {
		s.groups[number] = [2]int{-1, -1}
	}
}

func (s *patternSearch) match(node *patternNode, at int, next func(int) bool) bool {
	if s.steps++; s.steps > patternSteps {
		return false
	}
	switch node.kind {
	case patternSet:
		return at < len(s.text) && s.holds(&node.set, s.text[at]) && next(at+1)
	case patternStart:
		return at == 0 && next(at)
	case patternEnd:
		return at == len(s.text) && next(at)
	case patternBoundary:
		return (s.isWord(at-1) != s.isWord(at)) != node.isNegated && next(at)
	case patternSequence:
		return s.sequence(node.parts, at, next)
	case patternChoice:
		for _, part := range node.parts {
			if s.match(part, at, next) {
				return true
			}
		}
		return false
	case patternRepeat:
		return s.repeat(node, 0, at, -1, next)
	case patternGroup:
		return s.group(node, at, next)
	case patternLook:
		return s.look(node, at) != node.isNegated && next(at)
	}
	return s.reference(node, at, next)
}

func (s *patternSearch) holds(set *runeSet, one rune) bool {
	if set.holds(one) {
		return true
	}
	if !s.isFoldedCase {
		return false
	}
	for other := unicode.SimpleFold(one); other != one; other = unicode.SimpleFold(other) {
		if set.holds(other) {
			return true
		}
	}
	return false
}

func (s *patternSearch) isWord(at int) bool {
	word := runeSet{ranges: wordRunes}
	return at >= 0 && at < len(s.text) && word.holds(s.text[at])
}

func (s *patternSearch) sequence(parts []*patternNode, at int, next func(int) bool) bool {
	if len(parts) == 0 {
		return next(at)
	}
	return s.match(parts[0], at, func(after int) bool { return s.sequence(parts[1:], after, next) })
}

func (s *patternSearch) repeat(node *patternNode, count, at, before int, next func(int) bool) bool {
	if at == before && count > node.least {
		return false
	}
	again := func() bool {
		if node.most >= 0 && count >= node.most {
			return false
		}
		return s.match(node.parts[0], at, func(after int) bool { return s.repeat(node, count+1, after, at, next) })
	}
	if count < node.least {
		return again()
	}
	if node.isLazy {
		return next(at) || again()
	}
	return again() || next(at)
}

func (s *patternSearch) group(node *patternNode, at int, next func(int) bool) bool {
	if node.number == 0 {
		return s.match(node.parts[0], at, next)
	}
	before := s.groups[node.number]
	return s.match(node.parts[0], at, func(after int) bool {
		inner := s.groups[node.number]
		s.groups[node.number] = [2]int{at, after}
		if next(after) {
			return true
		}
		s.groups[node.number] = inner
		return false
	}) || s.restore(node.number, before)
}

func (s *patternSearch) restore(number int, before [2]int) bool {
	s.groups[number] = before
	return false
}

func (s *patternSearch) look(node *patternNode, at int) bool {
	if !node.isBehind {
		return s.match(node.parts[0], at, func(int) bool { return true })
	}
	for start := at; start >= 0; start-- {
		if s.match(node.parts[0], start, func(after int) bool { return after == at }) {
			return true
		}
	}
	return false
}

func (s *patternSearch) reference(node *patternNode, at int, next func(int) bool) bool {
	found := s.groups[node.number]
	if found[0] < 0 {
		return false
	}
	length := found[1] - found[0]
	if at+length > len(s.text) || string(s.text[found[0]:found[1]]) != string(s.text[at:at+length]) {
		return false
	}
	return next(at + length)
}
