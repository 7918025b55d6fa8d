package support

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
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

const (
	// identityPatience bounds the wait for a call's id when it has to be canceled.
	identityPatience = 2 * time.Second
	cancelPatience   = 5 * time.Second
)

// callTool makes one call and decodes its result. When the context ends first, the call is canceled at Ferrule too.
func callTool[I, O any](
	ctx context.Context, client *Client, name string, input I, options []CallOption,
	encode func(I) ([]byte, error), decode func([]byte) (O, error),
) (O, error) {
	var none O
	arguments, err := encode(input)
	if err != nil {
		return none, fmt.Errorf("the input of %s does not fit: %w", name, err)
	}
	chosen := callOptions{}
	for _, option := range options {
		option(&chosen)
	}
	result, err := client.call(ctx, name, arguments, &chosen)
	if err != nil {
		return none, err
	}
	output, err := decode(result.value())
	if err != nil {
		return none, fmt.Errorf("the result of %s does not fit: %w", name, err)
	}
	return output, nil
}

// exchange is one call that goes on by itself, so that its end can be awaited together with the context.
type exchange struct {
	client  *Client
	options *callOptions
	// identity gets the id of the call once.
	identity chan string
	end      chan exchangeEnd
}

type exchangeEnd struct {
	result *callResult
	err    error
}

func (c *Client) call(ctx context.Context, name string, arguments []byte, options *callOptions) (*callResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, canceledBy(err, "")
	}
	body, err := json.Marshal(map[string]any{"tool": name, "arguments": json.RawMessage(arguments)})
	if err != nil {
		return nil, err
	}
	under, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	going := &exchange{client: c, options: options, identity: make(chan string, 1), end: make(chan exchangeEnd, 1)}
	go going.run(under, body)
	select {
	case end := <-going.end:
		return end.result, end.err
	case <-ctx.Done():
		return nil, canceledBy(context.Cause(ctx), going.cancel(under))
	}
}

func canceledBy(cause error, invocation string) error {
	message := "the caller ended the call: " + cause.Error()
	return &CanceledError{CallError{
		Class: "canceled", Code: "canceled", Message: message, InvocationID: invocation, Recoverability: "retry", cause: cause,
	}}
}

// cancel cancels the call at Ferrule as soon as its id is known, and gives the id.
func (e *exchange) cancel(ctx context.Context) string {
	select {
	case invocation := <-e.identity:
		ctx, stop := context.WithTimeout(ctx, cancelPatience)
		defer stop()
		path := "/v1/calls/" + url.PathEscape(invocation) + "/cancel"
		if answer, err := e.client.send(ctx, http.MethodPost, path, []byte(`{"reason":"the caller ended the call"}`), nil); err == nil {
			_ = answer.Body.Close()
		}
		return invocation
	case <-e.end:
	case <-time.After(identityPatience):
	}
	return ""
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
	return c.http.Do(request)
}

func (e *exchange) run(ctx context.Context, body []byte) {
	result, err := e.made(ctx, body)
	e.end <- exchangeEnd{result, err}
}

func (e *exchange) made(ctx context.Context, body []byte) (*callResult, error) {
	headers := map[string]string{
		"Accept":          "text/event-stream",
		"Idempotency-Key": e.options.idempotencyKey,
		"Ferrule-Run":     e.options.run,
	}
	answer, err := e.client.send(ctx, http.MethodPost, "/v1/calls", body, headers)
	if err != nil {
		return nil, fmt.Errorf("Ferrule cannot be reached: %w", err)
	}
	defer answer.Body.Close()
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return e.follow(ctx, answer.Body)
	}
	state, err := readState(answer)
	if err != nil {
		return nil, err
	}
	e.identify(state.InvocationID)
	return e.ended(ctx, state, answer.StatusCode)
}

func readState(answer *http.Response) (*callState, error) {
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer of Ferrule ended early: %w", err)
	}
	state := &callState{}
	if err := json.Unmarshal(data, state); err != nil {
		message := fmt.Sprintf("what answers there with %s is no Ferrule", answer.Status)
		return nil, &CallError{Message: message, Status: answer.StatusCode}
	}
	return state, nil
}

func (e *exchange) identify(invocation string) {
	if invocation == "" {
		return
	}
	select {
	case e.identity <- invocation:
	default:
	}
}

// ended gives the result of a call that is over, and waits on for one that is not where that is wanted.
func (e *exchange) ended(ctx context.Context, state *callState, status int) (*callResult, error) {
	if state.IsPending {
		if isWaiting(state.State) && !e.options.waits {
			return nil, pendingError(state)
		}
		return e.poll(ctx, state.InvocationID)
	}
	if err := state.failure(status); err != nil {
		return nil, err
	}
	if state.Result == nil {
		return nil, &CallError{Message: "Ferrule gave no result", InvocationID: state.InvocationID, Status: status}
	}
	return state.Result, nil
}

// isWaiting tells what waits for somebody from what is only not done yet.
func isWaiting(state string) bool {
	return strings.HasPrefix(state, "awaiting") || strings.HasPrefix(state, "waiting")
}

func pendingError(state *callState) error {
	made := &PendingError{InvocationID: state.InvocationID, State: state.State, Message: state.Message}
	if state.ExpiresAt != nil {
		made.ExpiresAt = *state.ExpiresAt
	}
	return made
}

// poll follows a call whose stream has ended before it did.
func (e *exchange) poll(ctx context.Context, invocation string) (*callResult, error) {
	for {
		answer, err := e.client.send(ctx, http.MethodGet, "/v1/calls/"+url.PathEscape(invocation), nil, map[string]string{"Prefer": "wait=20"})
		if err != nil {
			return nil, fmt.Errorf("Ferrule cannot be reached: %w", err)
		}
		state, err := readState(answer)
		_ = answer.Body.Close()
		if err != nil {
			return nil, err
		}
		if !state.IsPending || isWaiting(state.State) && !e.options.waits {
			return e.ended(ctx, state, answer.StatusCode)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err())
		case <-time.After(time.Second):
		}
	}
}
