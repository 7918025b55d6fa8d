package support

import "encoding/json"

// Optional is a member that may be left out, be null, or have a value.
type Optional[T any] struct {
	// IsSet is false where the member is left out.
	IsSet bool
	// Value is nil where the member is null.
	Value *T
}

// Some makes a member that has a value.
func Some[T any](value T) Optional[T] { return Optional[T]{IsSet: true, Value: &value} }

func (o Optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	o.IsSet = true
	return decode(data, &o.Value)
}
