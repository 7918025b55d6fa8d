package support

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
)

// viaFerrule makes the Call of a tool that Ferrule brings along. FERRULE_URL says where it runs, FERRULE_TOKEN who asks.
func viaFerrule(name string) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, input []byte) ([]byte, error) {
		base, err := url.Parse(os.Getenv("FERRULE_URL"))
		isHere := err == nil && (base.Hostname() == "localhost" || net.ParseIP(base.Hostname()).IsLoopback())
		if err != nil || base.Scheme != "https" && !isHere { // a token does not travel unencrypted
			return nil, errors.New("set FERRULE_URL to the address of Ferrule: https, or http on this machine")
		}
		body, _ := json.Marshal(map[string]any{"tool": name, "arguments": json.RawMessage(input)})
		request, _ := http.NewRequestWithContext(ctx, "POST", base.JoinPath("v1/calls").String(), bytes.NewReader(body))
		if token := os.Getenv("FERRULE_TOKEN"); token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		var state struct {
			Detail, Message string
			Result          struct {
				IsError           bool            `json:"is_error"`
				StructuredContent json.RawMessage `json:"structured_content"`
				Content           []struct{ Text string }
				Error             struct{ Message string }
			}
		}
		err = json.NewDecoder(response.Body).Decode(&state)
		if result := state.Result; len(result.Content) == 0 || result.IsError {
			return nil, errors.Join(errors.New(response.Status+" "+state.Message+state.Detail+result.Error.Message), err)
		} else if string(result.StructuredContent) == "null" {
			return json.Marshal(result.Content[0].Text)
		}
		return state.Result.StructuredContent, nil
	}
}
