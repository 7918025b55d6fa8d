package support

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// jsonText is JSON that is being written. The first problem stays.
type jsonText struct {
	bytes.Buffer
	err error
	// needsComma is set after a member or an item.
	needsComma bool
	// skipped is the place of the first item of a tuple that was left out, and -1 while there is none.
	skipped int
}

// writer writes a typed value as JSON.
type writer[T any] func(out *jsonText, value T)

func (t *jsonText) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *jsonText) open(bracket byte) {
	t.WriteByte(bracket)
	t.needsComma = false
}

func (t *jsonText) close(bracket byte) {
	t.WriteByte(bracket)
	t.needsComma = true
}

func (t *jsonText) separate() {
	if t.needsComma {
		t.WriteByte(',')
	}
	t.needsComma = true
}

func writeAny(out *jsonText, value any) {
	encoder := json.NewEncoder(&out.Buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		out.fail(invalid("cannot be written as JSON: %v", err))
		return
	}
	out.Truncate(out.Len() - 1)
}

func writeNull(out *jsonText, _ Null) {
	out.WriteString("null")
}

func writeBool(out *jsonText, value bool) {
	out.WriteString(strconv.FormatBool(value))
}

func writeText(out *jsonText, value string) {
	writeAny(out, value)
}

func writeInt(out *jsonText, value int64) {
	out.WriteString(strconv.FormatInt(value, 10))
}

func writeUint(out *jsonText, value uint64) {
	out.WriteString(strconv.FormatUint(value, 10))
}

func writeNumber(out *jsonText, value json.Number) {
	if value == "" {
		value = "0"
	}
	writeAny(out, value)
}

func writeFloat(out *jsonText, value float64) {
	if math.IsInf(value, 0) || math.IsNaN(value) {
		out.fail(invalid("%v is no number in JSON", value))
		return
	}
	writeAny(out, value)
}

// constantWriter writes the constant, whatever the field has.
func constantWriter[T any](constant T, write writer[T]) writer[T] {
	return func(out *jsonText, _ T) { write(out, constant) }
}

// nullableWriter writes what a pointer points to, and null for a nil one.
func nullableWriter[T any](write writer[T]) writer[*T] {
	return func(out *jsonText, value *T) {
		if value == nil {
			out.WriteString("null")
			return
		}
		write(out, *value)
	}
}

// pointerWriter writes what a pointer points to, which has to be there.
func pointerWriter[T any](write writer[T]) writer[*T] {
	return func(out *jsonText, value *T) {
		if value == nil {
			out.fail(invalid("is missing"))
			return
		}
		write(out, *value)
	}
}

func listWriter[T any](write writer[T]) writer[[]T] {
	return func(out *jsonText, value []T) {
		out.open('[')
		for place, item := range value {
			out.separate()
			writeWithin(out, strconv.Itoa(place), item, write)
		}
		out.close(']')
	}
}

// nullableListWriter writes null for a nil list.
func nullableListWriter[T any](write writer[T]) writer[[]T] {
	return func(out *jsonText, value []T) {
		if value == nil {
			out.WriteString("null")
			return
		}
		listWriter(write)(out, value)
	}
}

func mapWriter[T any](write writer[T]) writer[map[string]T] {
	return func(out *jsonText, value map[string]T) {
		out.open('{')
		writeMembers(out, value, write)
		out.close('}')
	}
}

// nullableMapWriter writes null for a nil map.
func nullableMapWriter[T any](write writer[T]) writer[map[string]T] {
	return func(out *jsonText, value map[string]T) {
		if value == nil {
			out.WriteString("null")
			return
		}
		mapWriter(write)(out, value)
	}
}

func writeMembers[T any](out *jsonText, members map[string]T, write writer[T]) {
	for _, name := range sortedNames(members) {
		writeMember(out, name, members[name], write)
	}
}

func writeWithin[T any](out *jsonText, name string, value T, write writer[T]) {
	before := out.err
	write(out, value)
	if before == nil && out.err != nil {
		out.err = within(out.err, name)
	}
	out.needsComma = true
}

// writeMember writes a member that is always there.
func writeMember[T any](out *jsonText, name string, value T, write writer[T]) {
	out.separate()
	writeText(out, name)
	out.WriteByte(':')
	writeWithin(out, name, value, write)
}

// writePointer writes a member unless its pointer is nil.
func writePointer[T any](out *jsonText, name string, value *T, write writer[T]) {
	if value != nil {
		writeMember(out, name, *value, write)
	}
}

// writeList writes a member unless its list is nil.
func writeList[T any](out *jsonText, name string, value []T, write writer[[]T]) {
	if value != nil {
		writeMember(out, name, value, write)
	}
}

// writeMap writes a member unless its map is nil.
func writeMap[T any](out *jsonText, name string, value map[string]T, write writer[map[string]T]) {
	if value != nil {
		writeMember(out, name, value, write)
	}
}

// writeOptional writes a member that may be left out or null.
func writeOptional[T any](out *jsonText, name string, value Optional[T], write writer[T]) {
	switch value.state {
	case isNull:
		writeMember(out, name, Null{}, writeNull)
	case isSet:
		writeMember(out, name, value.value, write)
	}
}

// writeExtra writes members that have none of the names, which the record writes itself.
func writeExtra[T any](out *jsonText, extra map[string]T, write writer[T], names ...string) {
	for _, name := range names {
		if _, found := extra[name]; found {
			out.fail(within(invalid("has a field of its own and may not be in Extra"), name))
		}
	}
	writeMembers(out, extra, write)
}

// openTuple begins a tuple, and gives what closeTuple wants back.
func (t *jsonText) openTuple() int {
	outer := t.skipped
	t.skipped = -1
	t.open('[')
	return outer
}

func (t *jsonText) closeTuple(outer int) {
	t.close(']')
	t.skipped = outer
}

// writeItem writes the next item of a tuple.
func writeItem[T any](out *jsonText, place int, value T, write writer[T]) {
	if out.skipped >= 0 {
		out.fail(within(invalid("is there, but item %d before it is left out", out.skipped), strconv.Itoa(place)))
		return
	}
	out.separate()
	writeWithin(out, strconv.Itoa(place), value, write)
}

// skipItem notes that an item of a tuple is left out.
func (t *jsonText) skipItem(place int) {
	if t.skipped < 0 {
		t.skipped = place
	}
}

// writeItemIfAny writes the next item of a tuple unless its pointer is nil.
func writeItemIfAny[T any](out *jsonText, place int, value *T, write writer[T]) {
	if value == nil {
		out.skipItem(place)
		return
	}
	writeItem(out, place, *value, write)
}

// writeOptionalItem writes the next item of a tuple, which may be left out or null.
func writeOptionalItem[T any](out *jsonText, place int, value Optional[T], write writer[T]) {
	switch value.state {
	case isLeftOut:
		out.skipItem(place)
	case isNull:
		writeItem(out, place, Null{}, writeNull)
	case isSet:
		writeItem(out, place, value.value, write)
	}
}

// writeRest writes the items that follow.
func writeRest[T any](out *jsonText, place int, values []T, write writer[T]) {
	for _, value := range values {
		writeItem(out, place, value, write)
		place++
	}
}

// writeVariant writes a variant of a union if it is the one that is set, and counts it.
func writeVariant[T any](out *jsonText, count *int, value *T, write writer[T]) {
	if value == nil {
		return
	}
	if *count++; *count > 1 {
		out.fail(invalid("must have one variant; it has %d", *count))
		return
	}
	write(out, *value)
}

// writeConstant writes the variant of a union that is one value.
func writeConstant[T any](out *jsonText, count *int, isChosen bool, constant T, write writer[T]) {
	if isChosen {
		writeVariant(out, count, &constant, write)
	}
}

// needVariant refuses a union of which nothing is set.
func (t *jsonText) needVariant(count int) {
	if count == 0 {
		t.fail(invalid("must have one variant; it has none"))
	}
}

// writeTextChoice writes a value of a closed set of texts.
func writeTextChoice[T textChoice](out *jsonText, value T) {
	if !value.IsValid() {
		out.fail(invalid("%s is none of its values", shown(string(value))))
		return
	}
	writeText(out, string(value))
}

// writeIntChoice writes a value of a closed set of integers.
func writeIntChoice[T intChoice](out *jsonText, value T) {
	if !value.IsValid() {
		out.fail(invalid("%d is none of its values", value))
		return
	}
	writeNumber(out, json.Number(fmt.Sprint(value)))
}

// writeJSON writes a typed value.
func writeJSON[T any](value T, write writer[T]) ([]byte, error) {
	out := &jsonText{skipped: -1}
	write(out, value)
	if out.err != nil {
		return nil, out.err
	}
	return out.Bytes(), nil
}
