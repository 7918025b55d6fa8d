package support

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The patterns of schemas are those of ECMA-262. This file reads one into a tree; pattern_matching.go matches text by it.

type patternKind int

const (
	patternSet patternKind = iota
	patternSequence
	patternChoice
	patternRepeat
	patternGroup
	patternLook
	patternReference
	patternStart
	patternEnd
	patternBoundary
)

type patternNode struct {
	kind  patternKind
	set   runeSet
	parts []*patternNode
	// least and most say how often a repeat may match; most is -1 where there is no end.
	least, most int
	isLazy      bool
	// number is that of a group, and of the group that a reference means.
	number int
	name   string
	// isNegated and isBehind are of what looks around, and isNegated also of a boundary.
	isNegated, isBehind bool
}

type runeRange struct{ from, to rune }

type runeTable struct {
	table     *unicode.RangeTable
	name      string
	isNegated bool
}

type runeSet struct {
	ranges    []runeRange
	tables    []runeTable
	isNegated bool
}

func (s *runeSet) holds(r rune) bool {
	for _, each := range s.ranges {
		if each.from <= r && r <= each.to {
			return !s.isNegated
		}
	}
	for _, each := range s.tables {
		if unicode.Is(each.table, r) != each.isNegated {
			return !s.isNegated
		}
	}
	return s.isNegated
}

func (s *runeSet) add(other runeSet) {
	if other.isNegated {
		other = runeSet{ranges: outside(other.ranges)}
	}
	s.ranges = append(s.ranges, other.ranges...)
	s.tables = append(s.tables, other.tables...)
}

// outside gives what ranges leave out; they are in order and apart.
func outside(ranges []runeRange) []runeRange {
	var found []runeRange
	next := rune(0)
	for _, each := range ranges {
		if next < each.from {
			found = append(found, runeRange{next, each.from - 1})
		}
		next = each.to + 1
	}
	return append(found, runeRange{next, unicode.MaxRune})
}

var (
	digitRunes = []runeRange{{'0', '9'}}
	wordRunes  = []runeRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaceRunes = []runeRange{
		{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
		{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
	}
	lineEndRunes = []runeRange{{'\n', '\n'}}
)

type patternReader struct {
	text   []rune
	at     int
	groups int
	names  map[string]int
	depth  int
	// needsSearch is set by what a linear matcher cannot do: looking around, and referring back.
	needsSearch  bool
	isFoldedCase bool
}

func readPattern(text string) (*patternReader, *patternNode, error) {
	reader := &patternReader{text: []rune(text), names: map[string]int{}}
	if strings.HasPrefix(text, "(?i)") {
		reader.at, reader.isFoldedCase = 4, true
	}
	node, err := reader.choice()
	if err == nil && reader.at < len(reader.text) {
		err = reader.fault("there is a ) too many")
	}
	if err == nil {
		err = reader.resolve(node)
	}
	return reader, node, err
}

func (p *patternReader) fault(message string) error {
	return fmt.Errorf("the pattern %q cannot be read: %s at character %d", string(p.text), message, p.at+1)
}

func (p *patternReader) resolve(node *patternNode) error {
	if node.kind == patternReference {
		if node.name != "" {
			node.number = p.names[node.name]
		}
		if node.number < 1 || node.number > p.groups {
			return p.fault("it refers to a group that is not there")
		}
	}
	for _, part := range node.parts {
		if err := p.resolve(part); err != nil {
			return err
		}
	}
	return nil
}

func (p *patternReader) peek() rune {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return -1
}

func (p *patternReader) takes(text string) bool {
	if strings.HasPrefix(string(p.text[p.at:min(len(p.text), p.at+len(text))]), text) {
		p.at += utf8.RuneCountInString(text)
		return true
	}
	return false
}

func (p *patternReader) choice() (*patternNode, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > 200 {
		return nil, p.fault("it is too deep")
	}
	choices := &patternNode{kind: patternChoice}
	for {
		part, err := p.sequence()
		if err != nil {
			return nil, err
		}
		choices.parts = append(choices.parts, part)
		if !p.takes("|") {
			break
		}
	}
	if len(choices.parts) == 1 {
		return choices.parts[0], nil
	}
	return choices, nil
}

func (p *patternReader) sequence() (*patternNode, error) {
	sequence := &patternNode{kind: patternSequence}
	for p.at < len(p.text) && p.peek() != '|' && p.peek() != ')' {
		part, err := p.term()
		if err != nil {
			return nil, err
		}
		if part, err = p.quantified(part); err != nil {
			return nil, err
		}
		sequence.parts = append(sequence.parts, part)
	}
	return sequence, nil
}

func (p *patternReader) quantified(part *patternNode) (*patternNode, error) {
	least, most, found, err := p.quantifier()
	if err != nil || !found {
		return part, err
	}
	repeat := &patternNode{kind: patternRepeat, parts: []*patternNode{part}, least: least, most: most}
	repeat.isLazy = p.takes("?")
	return repeat, nil
}

func (p *patternReader) quantifier() (least, most int, found bool, err error) {
	switch {
	case p.takes("*"):
		return 0, -1, true, nil
	case p.takes("+"):
		return 1, -1, true, nil
	case p.takes("?"):
		return 0, 1, true, nil
	case p.peek() == '{':
		return p.counted()
	}
	return 0, 0, false, nil
}

func (p *patternReader) counted() (least, most int, found bool, err error) {
	start := p.at
	p.at++
	least, hasLeast := p.number()
	most = least
	if p.takes(",") {
		var hasMost bool
		if most, hasMost = p.number(); !hasMost {
			most = -1
		}
	}
	if !hasLeast || !p.takes("}") {
		p.at = start
		return 0, 0, false, nil
	}
	if most >= 0 && most < least {
		return 0, 0, false, p.fault("a repeat ends before it begins")
	}
	return least, most, true, nil
}

func (p *patternReader) number() (int, bool) {
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	number, err := strconv.Atoi(string(p.text[start:p.at]))
	if err != nil && p.at > start {
		return 1 << 30, true
	}
	return min(number, 1<<30), p.at > start
}

func (p *patternReader) term() (*patternNode, error) {
	one := p.text[p.at]
	switch one {
	case '^':
		p.at++
		return &patternNode{kind: patternStart}, nil
	case '$':
		p.at++
		return &patternNode{kind: patternEnd}, nil
	case '(':
		p.at++
		return p.group()
	case '[':
		p.at++
		return p.class()
	case '\\':
		p.at++
		return p.escape()
	case '.':
		p.at++
		return &patternNode{kind: patternSet, set: runeSet{ranges: lineEndRunes, isNegated: true}}, nil
	case '*', '+', '?':
		return nil, p.fault("there is nothing to repeat")
	}
	if _, _, found, err := p.quantifier(); found || err != nil {
		return nil, p.fault("there is nothing to repeat")
	}
	p.at++
	return literal(one), nil
}

func literal(one rune) *patternNode {
	return &patternNode{kind: patternSet, set: runeSet{ranges: []runeRange{{one, one}}}}
}

func (p *patternReader) group() (*patternNode, error) {
	node := &patternNode{kind: patternGroup}
	switch {
	case p.takes("?:"):
	case p.takes("?="):
		node.kind = patternLook
	case p.takes("?!"):
		node.kind, node.isNegated = patternLook, true
	case p.takes("?<="):
		node.kind, node.isBehind = patternLook, true
	case p.takes("?<!"):
		node.kind, node.isBehind, node.isNegated = patternLook, true, true
	case p.takes("?<"), p.takes("?P<"):
		if node.name = p.until('>'); node.name == "" {
			return nil, p.fault("a group has no name")
		}
		p.groups++
		node.number = p.groups
		p.names[node.name] = node.number
	case p.peek() == '?':
		return nil, p.fault("a group of this kind is not known")
	default:
		p.groups++
		node.number = p.groups
	}
	p.needsSearch = p.needsSearch || node.kind == patternLook
	inner, err := p.choice()
	if err == nil && !p.takes(")") {
		err = p.fault("a ) is missing")
	}
	node.parts = []*patternNode{inner}
	return node, err
}

func (p *patternReader) until(end rune) string {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] != end {
		p.at++
	}
	if p.at >= len(p.text) {
		return ""
	}
	p.at++
	return string(p.text[start : p.at-1])
}

func (p *patternReader) class() (*patternNode, error) {
	node := &patternNode{kind: patternSet}
	isNegated := p.takes("^")
	for p.peek() != ']' {
		if p.at >= len(p.text) {
			return nil, p.fault("a ] is missing")
		}
		if err := p.classPart(&node.set); err != nil {
			return nil, err
		}
	}
	p.at++
	node.set.isNegated = isNegated
	return node, nil
}

func (p *patternReader) classPart(set *runeSet) error {
	from, isOne, err := p.classOne()
	if err != nil {
		return err
	}
	if !isOne || p.peek() != '-' || p.at+1 >= len(p.text) || p.text[p.at+1] == ']' {
		set.add(from)
		return nil
	}
	p.at++
	to, isOneToo, err := p.classOne()
	if err != nil {
		return err
	}
	if !isOneToo {
		set.add(from)
		set.add(runeSet{ranges: []runeRange{{'-', '-'}}})
		set.add(to)
		return nil
	}
	if to.ranges[0].from < from.ranges[0].from {
		return p.fault("a range ends before it begins")
	}
	set.ranges = append(set.ranges, runeRange{from.ranges[0].from, to.ranges[0].from})
	return nil
}

func (p *patternReader) classOne() (set runeSet, isOne bool, err error) {
	if p.at >= len(p.text) {
		return set, false, p.fault("a ] is missing")
	}
	one := p.text[p.at]
	p.at++
	if one != '\\' {
		return literal(one).set, true, nil
	}
	if p.takes("b") {
		return literal('\b').set, true, nil
	}
	return p.escapedSet()
}

func (p *patternReader) escape() (*patternNode, error) {
	switch one := p.peek(); {
	case one == 'b' || one == 'B':
		p.at++
		return &patternNode{kind: patternBoundary, isNegated: one == 'B'}, nil
	case one == 'A':
		p.at++
		return &patternNode{kind: patternStart}, nil
	case one == 'z' || one == 'Z':
		p.at++
		return &patternNode{kind: patternEnd}, nil
	case '1' <= one && one <= '9':
		number, _ := p.number()
		p.needsSearch = true
		return &patternNode{kind: patternReference, number: number}, nil
	case p.takes("k<"):
		p.needsSearch = true
		return &patternNode{kind: patternReference, name: p.until('>')}, nil
	}
	set, _, err := p.escapedSet()
	return &patternNode{kind: patternSet, set: set}, err
}

// escapedSet reads what follows a backslash; isOne says whether it is one character.
func (p *patternReader) escapedSet() (set runeSet, isOne bool, err error) {
	if p.at >= len(p.text) {
		return set, false, p.fault("nothing follows a backslash")
	}
	one := p.text[p.at]
	p.at++
	switch one {
	case 'd', 'D':
		return runeSet{ranges: digitRunes, isNegated: one == 'D'}, false, nil
	case 'w', 'W':
		return runeSet{ranges: wordRunes, isNegated: one == 'W'}, false, nil
	case 's', 'S':
		return runeSet{ranges: spaceRunes, isNegated: one == 'S'}, false, nil
	case 'p', 'P':
		set, err = p.property(one == 'P')
		return set, false, err
	}
	made, err := p.escapedRune(one)
	return literal(made).set, true, err
}

func (p *patternReader) escapedRune(one rune) (rune, error) {
	switch one {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'f':
		return '\f', nil
	case '0':
		return 0, nil
	case 'c':
		if p.at < len(p.text) && p.text[p.at] < 128 && unicode.IsLetter(p.text[p.at]) {
			p.at++
			return p.text[p.at-1] % 32, nil
		}
	case 'x':
		return p.hex(2)
	case 'u':
		return p.unicodeEscape()
	}
	return one, nil
}

func (p *patternReader) unicodeEscape() (rune, error) {
	if p.takes("{") {
		number, err := strconv.ParseInt(p.until('}'), 16, 32)
		if err != nil || number > unicode.MaxRune {
			return 0, p.fault("a character has a wrong number")
		}
		return rune(number), nil
	}
	first, err := p.hex(4)
	if err != nil || first < 0xd800 || first > 0xdbff || !p.takes(`\u`) {
		return first, err
	}
	second, err := p.hex(4)
	return (first-0xd800)<<10 + (second - 0xdc00) + 0x10000, err
}

func (p *patternReader) hex(digits int) (rune, error) {
	if p.at+digits > len(p.text) {
		return 0, p.fault("digits are missing")
	}
	number, err := strconv.ParseUint(string(p.text[p.at:p.at+digits]), 16, 32)
	if err != nil {
		return 0, p.fault("digits are missing")
	}
	p.at += digits
	return rune(number), nil
}

var longCategories = map[string]string{
	"Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm",
	"Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
	"Number": "N", "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P",
	"Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
	"Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S",
	"Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z",
	"Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc",
	"Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Lowercase": "Ll", "Uppercase": "Lu", "Alphabetic": "L",
}

func (p *patternReader) property(isNegated bool) (runeSet, error) {
	name := string(p.peek())
	if p.takes("{") {
		name = p.until('}')
	} else {
		p.at++
	}
	for _, start := range []string{"General_Category=", "gc=", "Script=", "sc=", "Script_Extensions=", "scx="} {
		name = strings.TrimPrefix(name, start)
	}
	if short, found := longCategories[name]; found {
		name = short
	}
	table := unicode.Categories[name]
	if table == nil {
		table = unicode.Scripts[name]
	}
	if table == nil {
		return runeSet{}, p.fault("a property of characters is not known")
	}
	return runeSet{tables: []runeTable{{table, name, isNegated}}}, nil
}
