package support

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Optional is a member that may be left out, null, or a value: three different things. The zero Optional is left out.
type Optional[T any] struct {
	value T
	state optionalState
}

type optionalState uint8

const (
	isLeftOut optionalState = iota
	isNull
	isSet
)

// Some gives a member that is there with a value.
func Some[T any](value T) Optional[T] {
	return Optional[T]{value: value, state: isSet}
}

// NullOf gives a member that is there and null.
func NullOf[T any]() Optional[T] {
	return Optional[T]{state: isNull}
}

// Get gives the value, and whether there is one.
func (o Optional[T]) Get() (T, bool) {
	return o.value, o.state == isSet
}

// IsNull says whether the member is there and null.
func (o Optional[T]) IsNull() bool {
	return o.state == isNull
}

// IsLeftOut says whether the member is not there.
func (o Optional[T]) IsLeftOut() bool {
	return o.state == isLeftOut
}

// IsZero says the same, for encoding/json.
func (o Optional[T]) IsZero() bool {
	return o.IsLeftOut()
}

// MarshalJSON writes the value, and null where there is none: a struct has to leave the member out itself.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.state != isSet {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a member that is there.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	*o = NullOf[T]()
	if string(data) == "null" {
		return nil
	}
	o.state = isSet
	return json.Unmarshal(data, &o.value)
}

// Null is a value that is always null.
type Null struct{}

// MarshalJSON writes null.
func (Null) MarshalJSON() ([]byte, error) {
	return []byte("null"), nil
}

// PointerTo gives a pointer to a value, for members that may be left out.
func PointerTo[T any](value T) *T {
	return &value
}

// reader makes a typed value of a JSON value.
type reader[T any] func(value any) (T, error)

func readAny(value any) (any, error) {
	return value, nil
}

func readNull(value any) (Null, error) {
	if value != nil {
		return Null{}, mismatch("null", value)
	}
	return Null{}, nil
}

func mismatch(wanted string, value any) error {
	return &InvalidJSON{Problem: fmt.Sprintf("must be %s; it is %s", wanted, typeName(value)), isOfKind: true}
}

func readBool(value any) (bool, error) {
	made, ok := value.(bool)
	if !ok {
		return false, mismatch("boolean", value)
	}
	return made, nil
}

func readText(value any) (string, error) {
	made, ok := value.(string)
	if !ok {
		return "", mismatch("string", value)
	}
	return made, nil
}

func readNumber(value any) (json.Number, error) {
	made, ok := value.(json.Number)
	if !ok {
		return "", mismatch("number", value)
	}
	return made, nil
}

func readFloat(value any) (float64, error) {
	number, err := readNumber(value)
	if err != nil {
		return 0, err
	}
	made, err := strconv.ParseFloat(string(number), 64)
	if err != nil || math.IsInf(made, 0) {
		return 0, invalid("the number %s is too large", number)
	}
	if !isHeld(number, made) {
		return 0, invalid("the number %s has more digits than a float64 holds", number)
	}
	return made, nil
}

// isHeld says whether a float64 is the number, where that is written as a whole one: an account's number is never rounded.
// Fractions are, as everywhere; and what others write of a float64 of their own is the number that they had.
func isHeld(number json.Number, made float64) bool {
	digits := strings.TrimPrefix(string(number), "-")
	if len(digits) <= 15 || !isDigits(digits) {
		return true
	}
	return strconv.FormatFloat(math.Abs(made), 'f', -1, 64) == digits || exactly(number).Cmp(new(big.Rat).SetFloat64(made)) == 0
}

func readInt(value any) (int64, error) {
	number, err := readNumber(value)
	if err != nil {
		return 0, err
	}
	if made, err := strconv.ParseInt(string(number), 10, 64); err == nil {
		return made, nil
	}
	made, ok := asInteger(number)
	if !ok {
		return 0, invalid("must be integer; it is %s", number)
	}
	if !made.IsInt64() {
		return 0, invalid("the number %s does not fit into 64 bits", number)
	}
	return made.Int64(), nil
}

func readUint(value any) (uint64, error) {
	number, err := readNumber(value)
	if err != nil {
		return 0, err
	}
	made, ok := asInteger(number)
	if !ok {
		return 0, invalid("must be integer; it is %s", number)
	}
	if !made.IsUint64() {
		return 0, invalid("the number %s does not fit into 64 bits without a sign", number)
	}
	return made.Uint64(), nil
}

// textChoice is a closed set of texts.
type textChoice interface {
	~string
	IsValid() bool
}

// intChoice is a closed set of integers.
type intChoice interface {
	~int64 | ~uint64
	IsValid() bool
}

func readTextChoice[T textChoice](value any) (T, error) {
	text, err := readText(value)
	if err == nil && !T(text).IsValid() {
		err = invalid("%s is none of its values", shown(text))
	}
	return T(text), err
}

func readIntChoice[T intChoice](value any) (T, error) {
	number, err := readNumber(value)
	if err != nil {
		return 0, err
	}
	whole, ok := asInteger(number)
	if ok && whole.IsInt64() && T(whole.Int64()).IsValid() {
		return T(whole.Int64()), nil
	}
	if ok && whole.IsUint64() && T(whole.Uint64()).IsValid() {
		return T(whole.Uint64()), nil
	}
	return 0, invalid("%s is none of its values", number)
}

// constantReader reads a value that is always the same.
func constantReader[T comparable](constant T, read reader[T]) reader[T] {
	return func(value any) (T, error) {
		made, err := read(value)
		if err == nil && made != constant {
			err = invalid("must be %s", shown(constant))
		}
		return made, err
	}
}

// pointerReader reads what is kept behind a pointer.
func pointerReader[T any](read reader[T]) reader[*T] {
	return func(value any) (*T, error) {
		made, err := read(value)
		if err != nil {
			return nil, err
		}
		return &made, nil
	}
}

// nullableReader reads a value that may be null, which is the zero T: a nil pointer, list or map.
func nullableReader[T any](read reader[T]) reader[T] {
	return func(value any) (T, error) {
		if value == nil {
			var zero T
			return zero, nil
		}
		return read(value)
	}
}

func listReader[T any](read reader[T]) reader[[]T] {
	return func(value any) ([]T, error) {
		items, ok := value.([]any)
		if !ok {
			return nil, mismatch("array", value)
		}
		made := make([]T, len(items))
		for place, item := range items {
			var err error
			if made[place], err = read(item); err != nil {
				return nil, within(err, strconv.Itoa(place))
			}
		}
		return made, nil
	}
}

func mapReader[T any](read reader[T]) reader[map[string]T] {
	return func(value any) (map[string]T, error) {
		members, ok := value.(map[string]any)
		if !ok {
			return nil, mismatch("object", value)
		}
		made := make(map[string]T, len(members))
		for name, member := range members {
			var err error
			if made[name], err = read(member); err != nil {
				return nil, within(err, name)
			}
		}
		return made, nil
	}
}

// parts is a JSON object or list that is being read. The first problem stays, and later reads do nothing.
type parts struct {
	members map[string]any
	items   []any
	err     error
}

func objectParts(value any) *parts {
	members, ok := value.(map[string]any)
	if !ok {
		return &parts{err: mismatch("object", value)}
	}
	return &parts{members: members}
}

func listParts(value any) *parts {
	items, ok := value.([]any)
	if !ok {
		return &parts{err: mismatch("array", value)}
	}
	return &parts{items: items}
}

func take[T any](from *parts, name string, value any, into *T, read reader[T]) {
	made, err := read(value)
	if err != nil {
		from.err = within(err, name)
		return
	}
	*into = made
}

// readMember reads a member that has to be there.
func readMember[T any](from *parts, name string, into *T, read reader[T]) {
	if from.err != nil {
		return
	}
	value, found := from.members[name]
	if !found {
		from.err = within(invalid("is missing"), name)
		return
	}
	take(from, name, value, into, read)
}

// readMemberIfAny reads a member that may be left out: the zero T says that it was.
func readMemberIfAny[T any](from *parts, name string, into *T, read reader[T]) {
	if value, found := from.members[name]; found && from.err == nil {
		take(from, name, value, into, read)
	}
}

// readOptional reads a member that may be left out or null.
func readOptional[T any](from *parts, name string, into *Optional[T], read reader[T]) {
	value, found := from.members[name]
	if !found || from.err != nil {
		return
	}
	if value == nil {
		*into = NullOf[T]()
		return
	}
	into.state = isSet
	take(from, name, value, &into.value, read)
}

// readExtra reads the members that have none of the names.
func readExtra[T any](from *parts, into *map[string]T, read reader[T], names ...string) {
	if from.err != nil {
		return
	}
	rest := make(map[string]any, len(from.members))
	for name, value := range from.members {
		rest[name] = value
	}
	for _, name := range names {
		delete(rest, name)
	}
	if len(rest) > 0 {
		*into, from.err = mapReader(read)(rest)
	}
}

// readItem reads the item at a place that has to be there.
func readItem[T any](from *parts, place int, into *T, read reader[T]) {
	if from.err != nil {
		return
	}
	if place >= len(from.items) {
		from.err = within(invalid("is missing"), strconv.Itoa(place))
		return
	}
	take(from, strconv.Itoa(place), from.items[place], into, read)
}

// readItemIfAny reads the item at a place that may be left out.
func readItemIfAny[T any](from *parts, place int, into *T, read reader[T]) {
	if place < len(from.items) && from.err == nil {
		take(from, strconv.Itoa(place), from.items[place], into, read)
	}
}

// readOptionalItem reads the item at a place that may be left out or null.
func readOptionalItem[T any](from *parts, place int, into *Optional[T], read reader[T]) {
	if place >= len(from.items) || from.err != nil {
		return
	}
	if from.items[place] == nil {
		*into = NullOf[T]()
		return
	}
	into.state = isSet
	take(from, strconv.Itoa(place), from.items[place], &into.value, read)
}

// readRest reads the items from a place on.
func readRest[T any](from *parts, place int, into *[]T, read reader[T]) {
	for ; place < len(from.items) && from.err == nil; place++ {
		var made T
		take(from, strconv.Itoa(place), from.items[place], &made, read)
		*into = append(*into, made)
	}
}

// noMore refuses items from a place on.
func (p *parts) noMore(place int) {
	if p.err == nil && len(p.items) > place {
		p.err = within(invalid("is one too many"), strconv.Itoa(place))
	}
}

// readVariant reads the variant of a union that a value is.
func readVariant[T any](value any, into **T, read reader[T]) error {
	made, err := read(value)
	if err == nil {
		*into = &made
	}
	return err
}

// isVariant reads a variant of a union if the value is of its type. Why one that its schema takes cannot be read is kept in problem,
// unless it is only that the value is of another type.
func isVariant[T any](value any, into **T, read reader[T], problem *error) bool {
	err := readVariant(value, into, read)
	var known *InvalidJSON
	if errors.As(err, &known) && !known.isOfKind && *problem == nil {
		*problem = err
	}
	return err == nil
}

// noVariant says of a value that its schema takes, and no variant, what is wrong with it.
func noVariant(problem error) error {
	if problem != nil {
		return problem
	}
	return invalid("fits no variant")
}

// isConstant says whether a value is the one of a variant.
func isConstant[T comparable](value any, constant T, read reader[T]) bool {
	made, err := read(value)
	return err == nil && made == constant
}

// textTag gives the member that says which variant of a union a value is.
func textTag(value any, name string) string {
	members, _ := value.(map[string]any)
	text, _ := members[name].(string)
	return text
}

// anyTag is textTag for tags of several types: the type, then the value.
func anyTag(value any, name string) string {
	members, _ := value.(map[string]any)
	switch tag := members[name].(type) {
	case string:
		return "text " + tag
	case bool:
		return "bool " + strconv.FormatBool(tag)
	case json.Number:
		return "number " + exactly(tag).RatString()
	}
	return ""
}

// readList parses, and makes the typed value of a tuple: what its schema says beside that is checked with what the tuple is in.
func readList[T any](data []byte, read reader[T]) (T, error) {
	value, err := parseJSON(data)
	if err != nil {
		var none T
		return none, err
	}
	return read(value)
}

// readJSON parses, checks by a schema, and makes the typed value.
func readJSON[T any](data []byte, schema *schemaDocument, pointer string, read reader[T]) (T, error) {
	var made T
	value, err := parseJSON(data)
	if err != nil {
		return made, err
	}
	if err := schema.check(pointer, value); err != nil {
		return made, err
	}
	return read(value)
}
