package support

import (
	"bytes"
	"encoding/json"
	"math"
)

// Ptr makes a pointer to a value, for members that may be left out.
func Ptr[T any](value T) *T { return &value }

// decode is json.Unmarshal that keeps every digit: a number in an any is a json.Number.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// read decodes a document in which 2.0 may stand for the integer 2, as JSON Schema allows and Go does not.
func read(data []byte, into any) error {
	var value any
	err := decode(data, &value)
	if err == nil {
		data, err = json.Marshal(whole(value))
	}
	if err != nil {
		return err
	}
	return decode(data, into)
}

func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, each := range value {
			value[name] = whole(each)
		}
	case []any:
		for i, each := range value {
			value[i] = whole(each)
		}
	case json.Number:
		number, err := value.Float64()
		if err == nil && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
			return int64(number)
		}
	}
	return value
}
