package support

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Client calls the tools of a running Ferrule. It may be used by many goroutines at once.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// ClientOption is a choice about a client.
type ClientOption func(*Client)

// WithURL says where Ferrule is: http://127.0.0.1:8080. Without it FERRULE_URL does.
func WithURL(base string) ClientOption {
	return func(c *Client) { c.base = base }
}

// WithToken gives the bearer token. Without it FERRULE_TOKEN does.
func WithToken(token string) ClientOption {
	return func(c *Client) { c.token = token }
}

// WithHTTPClient makes all requests through another http.Client.
func WithHTTPClient(client *http.Client) ClientOption {
	return func(c *Client) { c.http = client }
}

// NewClient makes a client.
func NewClient(options ...ClientOption) (*Client, error) {
	client := &Client{base: os.Getenv("FERRULE_URL"), token: os.Getenv("FERRULE_TOKEN"), http: &http.Client{}}
	for _, option := range options {
		option(client)
	}
	client.base = strings.TrimRight(client.base, "/")
	found, err := url.Parse(client.base)
	if err != nil || found.Host == "" || (found.Scheme != "http" && found.Scheme != "https") {
		return nil, fmt.Errorf("the address of Ferrule is %q; set FERRULE_URL or WithURL to one like http://127.0.0.1:8080", client.base)
	}
	return client, nil
}

// Progress is how far a call is.
type Progress struct {
	InvocationID string `json:"invocation_id"`
	Sequence     int    `json:"sequence"`
	Status       string `json:"status"`
	Message      string `json:"message"`
	// Percent is nil where the tool did not say.
	Percent     *float64 `json:"percent"`
	CurrentStep string   `json:"current_step"`
	TotalSteps  int      `json:"total_steps"`
	ElapsedMS   int64    `json:"elapsed_ms"`
}

// CallOption is a choice about one call.
type CallOption func(*callOptions)

type callOptions struct {
	idempotencyKey string
	run            string
	progress       func(Progress)
	waits          bool
}

// WithIdempotencyKey makes a call happen once, however often it is made with this key.
func WithIdempotencyKey(key string) CallOption {
	return func(o *callOptions) { o.idempotencyKey = key }
}

// WithRun says to which run of an agent the call belongs.
func WithRun(run string) CallOption {
	return func(o *callOptions) { o.run = run }
}

// WithProgress is told how far the call is. It is called from one goroutine.
func WithProgress(tell func(Progress)) CallOption {
	return func(o *callOptions) { o.progress = tell }
}

// WithWaiting makes the call wait for a person's answer. Without it a call that needs one ends with a PendingError.
func WithWaiting() CallOption {
	return func(o *callOptions) { o.waits = true }
}

// callTool makes one call and decodes its result. When the context ends first, the call is canceled at Ferrule too.
func callTool[I, O any](
	ctx context.Context, client *Client, name string, input I, options []CallOption,
	encode func(I) ([]byte, error), decode func([]byte) (O, error),
) (O, error) {
	var none O
	arguments, err := encode(input)
	if err != nil {
		message := "the input of " + name + " does not fit: " + err.Error()
		return none, &InvalidInputError{CallError{Code: "invalid_input", Message: message, cause: err}}
	}
	result, err := client.call(ctx, name, arguments, chosen(options))
	if err != nil {
		return none, err
	}
	return decodedResult(result, decode)
}

// ResultOf gives the result of a call that was made before, as the function decode of its tool reads it: after a PendingError,
// ResultOf(ctx, client, pending.InvocationID, DecodeGetWeatherOutput). While the call waits for somebody that is a PendingError
// again, unless WithWaiting is among the options. The end of the context ends the wait and not the call.
func ResultOf[O any](
	ctx context.Context, client *Client, invocationID string, decode func([]byte) (O, error), options ...CallOption,
) (O, error) {
	result, err := client.resultOf(ctx, invocationID, chosen(options))
	if err != nil {
		var none O
		return none, err
	}
	return decodedResult(result, decode)
}

// CancelCall cancels a call at Ferrule.
func CancelCall(ctx context.Context, client *Client, invocationID string) error {
	body := []byte(`{"reason":"the caller ended the call"}`)
	answer, err := client.send(ctx, http.MethodPost, callPath(invocationID)+"/cancel", body, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusBadRequest {
		return nil
	}
	state, err := readState(answer)
	if err != nil {
		return err
	}
	return state.failure(answer)
}

func chosen(options []CallOption) *callOptions {
	made := &callOptions{}
	for _, option := range options {
		option(made)
	}
	return made
}

func callPath(invocationID string) string {
	return "/v1/calls/" + url.PathEscape(invocationID)
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, headers map[string]string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range headers {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, connectionError("Ferrule cannot be reached", err)
	}
	return answer, nil
}
