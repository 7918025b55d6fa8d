package support

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"unicode/utf8"
)

// deepestCheck bounds schemas that lead back to themselves without a step into the value.
const deepestCheck = 30_000

// schemaDocument is a JSON Schema (draft 2020-12; older spellings are read too) that values are checked by. What `format` says is
// not checked.
type schemaDocument struct {
	text string
	once sync.Once
	root any
	err  error
	// resources are the schemas that have an id of their own, and anchors those that have a name within one: by id and id#name.
	// Those of $dynamicAnchor are in dynamic too.
	resources, anchors, dynamic map[string]schemaPlace
	// isOld is draft 7 or before, where nothing beside a $ref counts.
	isOld bool
	// hasPlainIDs is draft 4 or before, which have id for $id.
	hasPlainIDs bool
	// tracks is set where a schema asks what others have looked at.
	tracks bool
}

func newSchema(text string) *schemaDocument {
	return &schemaDocument{text: text}
}

// check says where a value does not fit the schema at a pointer (#/properties/when) of the document.
func (d *schemaDocument) check(pointer string, value any) error {
	d.once.Do(d.open)
	if d.err != nil {
		return d.err
	}
	found, err := d.target(pointer, "")
	if err != nil {
		return err
	}
	run := &schemaRun{document: d, base: found.base, following: map[followed]bool{}}
	_, err = run.check(found.schema, value)
	return err
}

// accepts says whether a value fits the schema at a pointer.
func (d *schemaDocument) accepts(pointer string, value any) bool {
	return d.check(pointer, value) == nil
}

func (d *schemaDocument) open() {
	d.root, d.err = parseJSON([]byte(d.text))
	d.resources, d.anchors, d.dynamic = map[string]schemaPlace{}, map[string]schemaPlace{}, map[string]schemaPlace{}
	if root, ok := d.root.(map[string]any); ok {
		dialect, _ := root["$schema"].(string)
		for _, old := range []string{"draft-03", "draft-04", "draft-06", "draft-07"} {
			d.isOld = d.isOld || strings.Contains(dialect, old)
			d.hasPlainIDs = d.hasPlainIDs || old <= "draft-04" && strings.Contains(dialect, old)
		}
		if dialect == "" {
			d.isOld = hasOldItems(d.root)
		}
	}
	d.resources[""] = schemaPlace{schema: d.root}
	d.index(d.root, "")
}

// subschemas gives the schemas right within a schema. What other keywords have is no schema, whatever it looks like.
func subschemas(schema map[string]any) []any {
	var found []any
	for keyword, value := range schema {
		switch keyword {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			members, _ := value.(map[string]any)
			for _, each := range members {
				found = append(found, each)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems", "items":
			if list, ok := value.([]any); ok {
				found = append(found, list...)
			} else {
				found = append(found, value)
			}
		case "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties",
			"propertyNames", "not", "if", "then", "else":
			found = append(found, value)
		}
	}
	return found
}

// hasOldItems finds a list under items, which no draft after 2019-09 has.
func hasOldItems(schema any) bool {
	members, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	if _, isList := members["items"].([]any); isList {
		return true
	}
	for _, inner := range subschemas(members) {
		if hasOldItems(inner) {
			return true
		}
	}
	return false
}

// seen is what of a value schemas have looked at, for unevaluatedProperties and unevaluatedItems. It is nil where nobody asks.
type seen struct {
	names map[string]bool
	items map[int]bool
}

func (s *seen) name(name string) {
	if s != nil {
		s.names[name] = true
	}
}

func (s *seen) item(place int) {
	if s != nil {
		s.items[place] = true
	}
}

func (s *seen) add(other *seen) {
	if s == nil || other == nil {
		return
	}
	for name := range other.names {
		s.name(name)
	}
	for place := range other.items {
		s.item(place)
	}
}

type schemaRun struct {
	document *schemaDocument
	depth    int
	// base is the id of the resource that the check is in, and scopes are those that it came through.
	base   string
	scopes []string
	// level is how deep within the value the check is, and following has the references it goes through there.
	level     int
	following map[followed]bool
}

type followed struct {
	base, reference string
	level           int
}

// within checks a part of a value.
func (r *schemaRun) within(schema, value any) error {
	r.level++
	_, err := r.check(schema, value)
	r.level--
	return err
}

func (r *schemaRun) check(schema, value any) (*seen, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > deepestCheck {
		return nil, invalid("the value or its schema is too deep")
	}
	switch schema := schema.(type) {
	case bool:
		if !schema {
			return nil, invalid("nothing is allowed here")
		}
		return nil, nil
	case map[string]any:
		return r.checkAll(schema, value)
	}
	return nil, invalid("the schema is neither an object nor a boolean")
}

func (r *schemaRun) checkAll(schema map[string]any, value any) (*seen, error) {
	defer r.enter(schema)()
	var looked *seen
	if r.document.tracks {
		looked = &seen{map[string]bool{}, map[int]bool{}}
	}
	if reference, ok := schema["$ref"].(string); ok {
		if err := r.checkReference(reference, false, value, looked); err != nil || r.document.isOld {
			return looked, err
		}
	}
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
		if reference, ok := schema[keyword].(string); ok {
			if err := r.checkReference(reference, true, value, looked); err != nil {
				return looked, err
			}
		}
	}
	if err := checkPlain(schema, value); err != nil {
		return looked, err
	}
	if err := r.checkParts(schema, value, looked); err != nil {
		return looked, err
	}
	if err := r.checkCombinations(schema, value, looked); err != nil {
		return looked, err
	}
	return looked, r.checkUnevaluated(schema, value, looked)
}

func (r *schemaRun) checkParts(schema map[string]any, value any, looked *seen) error {
	switch value := value.(type) {
	case json.Number:
		return checkBounds(schema, value)
	case string:
		return checkText(schema, value)
	case []any:
		return r.checkItems(schema, value, looked)
	case map[string]any:
		return r.checkMembers(schema, value, looked)
	}
	return nil
}

func (r *schemaRun) checkReference(reference string, isDynamic bool, value any, looked *seen) error {
	found, err := r.document.target(reference, r.base)
	if err != nil {
		return err
	}
	if isDynamic {
		found = r.outermost(reference, found)
	}
	// A reference that leads back to itself for the same value says nothing about it.
	step := followed{r.base, reference, r.level}
	if r.following[step] {
		return nil
	}
	r.following[step] = true
	defer delete(r.following, step)
	outer := r.base
	r.base = found.base
	inner, err := r.check(found.schema, value)
	r.base = outer
	looked.add(inner)
	return err
}

// checkPlain checks what any value may be asked: type, enum and const.
func checkPlain(schema map[string]any, value any) error {
	switch kind := schema["type"].(type) {
	case string:
		if !isOfType(value, kind) {
			return invalid("must be %s; it is %s", kind, typeName(value))
		}
	case []any:
		if err := checkTypes(kind, value); err != nil {
			return err
		}
	}
	if choices, ok := schema["enum"].([]any); ok {
		if !isAmong(value, choices) {
			return invalid("must be one of %s", shownChoices(choices))
		}
	}
	if constant, ok := schema["const"]; ok && !isAmong(value, []any{constant}) {
		return invalid("must be %s", shown(constant))
	}
	return nil
}

func checkTypes(kinds []any, value any) error {
	names := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		name, _ := kind.(string)
		if isOfType(value, name) {
			return nil
		}
		names = append(names, name)
	}
	return invalid("must be %s; it is %s", strings.Join(names, " or "), typeName(value))
}

func isOfType(value any, kind string) bool {
	number, isNumber := value.(json.Number)
	if kind == "integer" {
		return isNumber && isInteger(number)
	}
	return typeName(value) == kind
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func isAmong(value any, choices []any) bool {
	if text, ok := value.(string); ok {
		for _, choice := range choices {
			if other, ok := choice.(string); ok && other == text {
				return true
			}
		}
		return false
	}
	key := sameKey(value)
	for _, choice := range choices {
		if typeName(choice) == typeName(value) && sameKey(choice) == key {
			return true
		}
	}
	return false
}

// shown gives a value as short text for a message.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(text)); len(runes) > 120 {
		return string(runes[:119]) + "…"
	}
	return string(text)
}

// mostShown is how many of many values a message tells.
const mostShown = 10

// shownChoices gives values as text for a message: the first of them where there are many.
func shownChoices(choices []any) string {
	texts := make([]string, 0, mostShown+1)
	for _, choice := range choices[:min(len(choices), mostShown)] {
		texts = append(texts, shown(choice))
	}
	if more := len(choices) - mostShown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

func checkBounds(schema map[string]any, value json.Number) error {
	var number *big.Rat
	compared := func(bound json.Number) int {
		if number == nil {
			number = exactly(value)
		}
		return number.Cmp(exactly(bound))
	}
	isOver, _ := schema["exclusiveMinimum"].(bool)
	isUnder, _ := schema["exclusiveMaximum"].(bool)
	if bound, ok := schema["minimum"].(json.Number); ok && (compared(bound) < 0 || isOver && compared(bound) == 0) {
		return invalid("must be at least %s; it is %s", bound, value)
	}
	if bound, ok := schema["maximum"].(json.Number); ok && (compared(bound) > 0 || isUnder && compared(bound) == 0) {
		return invalid("must be at most %s; it is %s", bound, value)
	}
	if bound, ok := schema["exclusiveMinimum"].(json.Number); ok && compared(bound) <= 0 {
		return invalid("must be more than %s; it is %s", bound, value)
	}
	if bound, ok := schema["exclusiveMaximum"].(json.Number); ok && compared(bound) >= 0 {
		return invalid("must be less than %s; it is %s", bound, value)
	}
	if step, ok := schema["multipleOf"].(json.Number); ok && !isMultiple(value, step) {
		return invalid("must be a multiple of %s; it is %s", step, value)
	}
	return nil
}

func isMultiple(value, step json.Number) bool {
	divisor := exactly(step)
	if divisor.Sign() == 0 {
		return false
	}
	return new(big.Rat).Quo(exactly(value), divisor).IsInt()
}

func checkText(schema map[string]any, value string) error {
	if least, ok := countOf(schema, "minLength"); ok && utf8.RuneCountInString(value) < least {
		return invalid("must have at least %s", plural(least, "character"))
	}
	if most, ok := countOf(schema, "maxLength"); ok && utf8.RuneCountInString(value) > most {
		return invalid("must have at most %s", plural(most, "character"))
	}
	text, ok := schema["pattern"].(string)
	if !ok {
		return nil
	}
	pattern, err := patternOf(text)
	if err != nil {
		return invalid("%v", err)
	}
	if !pattern.matches(value) {
		return invalid("must match %s", text)
	}
	return nil
}

// countOf gives a keyword that is a count.
func countOf(schema map[string]any, keyword string) (int, bool) {
	number, ok := schema[keyword].(json.Number)
	if !ok {
		return 0, false
	}
	count, ok := asInteger(number)
	if !ok || !count.IsInt64() {
		return 0, false
	}
	return int(count.Int64()), true
}

func plural(count int, noun string) string {
	if count == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
