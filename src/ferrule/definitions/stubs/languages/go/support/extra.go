package support

import "encoding/json"

// decodeExtra reads the members of an object that no field is for.
func decodeExtra[T any](data []byte, fields ...string) (extra map[string]T, err error) {
	var all map[string]json.RawMessage
	if err = decode(data, &all); err != nil {
		return nil, err
	}
	for _, name := range fields {
		delete(all, name)
	}
	data, err = json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return extra, decode(data, &extra)
}

// encodeExtra writes a struct together with the members that no field is for.
func encodeExtra[T any](fields any, extra map[string]T) ([]byte, error) {
	all := map[string]any{}
	for name, value := range extra {
		all[name] = value
	}
	data, err := json.Marshal(fields)
	if err == nil {
		err = decode(data, &all)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
