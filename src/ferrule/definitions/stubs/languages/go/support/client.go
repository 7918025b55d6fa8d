package support

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Client calls the tools of a running Ferrule. It may be used by many goroutines at once.
type Client struct {
	base  *url.URL
	token string
	http  http.Client
}

// NewClient makes a client for Ferrule at a base address, such as http://127.0.0.1:8787. Where the address or the bearer token is
// empty, FERRULE_URL or FERRULE_TOKEN says it. A token is sent over https, and over http to this very machine only.
func NewClient(base, token string) (*Client, error) {
	if base == "" {
		base = os.Getenv("FERRULE_URL")
	}
	if token == "" {
		token = os.Getenv("FERRULE_TOKEN")
	}
	found, err := url.Parse(base)
	if err != nil || found.Host == "" || found.Scheme != "http" && found.Scheme != "https" {
		return nil, fmt.Errorf("the address of Ferrule is %q: give one like http://127.0.0.1:8787, or set FERRULE_URL", base)
	}
	isHere := found.Hostname() == "localhost" || net.ParseIP(found.Hostname()).IsLoopback()
	if token != "" && found.Scheme != "https" && !isHere {
		return nil, fmt.Errorf("the token would be sent to %s unencrypted: use https", found.Host)
	}
	client := &Client{base: found, token: token}
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, nil
}

// Progress is how far a call is.
type Progress struct {
	InvocationID string   `json:"invocation_id"`
	Message      string   `json:"message"`
	Percent      *float64 `json:"percent"`
	CurrentStep  string   `json:"current_step"`
	TotalSteps   int      `json:"total_steps"`
}

// CallOption is a choice about one call.
type CallOption func(*callOptions)

type callOptions struct {
	key      string
	progress func(Progress)
	waits    bool
}

// WithIdempotencyKey makes a call happen once, however often it is made with this key.
func WithIdempotencyKey(key string) CallOption { return func(o *callOptions) { o.key = key } }

// WithProgress is told how far the call is.
func WithProgress(tell func(Progress)) CallOption { return func(o *callOptions) { o.progress = tell } }

// WithWaiting makes the call wait for a person's answer. Without it, one that needs an answer ends with ErrPending.
func WithWaiting() CallOption { return func(o *callOptions) { o.waits = true } }

// ErrorClass says what kind of failure an error is: errors.Is(err, ErrPermissionDenied).
type ErrorClass string

func (c ErrorClass) Error() string { return string(c) }

// CallError is a call without a result.
type CallError struct {
	Class   ErrorClass
	Code    string
	Message string
	// InvocationID is empty where no call was begun.
	InvocationID string
	// Status is that of the answer; 0 where there was none.
	Status      int
	IsRetrySafe bool
	RetryAfter  time.Duration
	// Cause is what went wrong on this side: the end of the context, an error of the network.
	Cause error
}

func (e *CallError) Error() string { return fmt.Sprintf("%s: %s", e.Class, e.Message) }

func (e *CallError) Is(target error) bool { return target == e.Class }

func (e *CallError) Unwrap() error { return e.Cause }

type callState struct {
	InvocationID                 string `json:"invocation_id"`
	IsPending                    bool   `json:"is_pending"`
	State, Message, Detail, Code string
	Result                       struct {
		StructuredContent json.RawMessage `json:"structured_content"`
		Content           []struct {
			Text  string
			Empty bool
		}
		Error struct {
			Class   ErrorClass `json:"error_class"`
			Code    string     `json:"error_code"`
			Message string
			Retry   struct {
				IsSafe bool    `json:"retry_safe"`
				After  float64 `json:"retry_after"`
			}
		}
	}
}

// call makes a call and waits for its result. When the context ends first, the call is canceled at Ferrule too.
func call[O any](ctx context.Context, c *Client, name string, input any, options []CallOption) (output O, err error) {
	body, err := json.Marshal(map[string]any{"tool": name, "arguments": input})
	if err != nil {
		return output, err
	}
	state, err := c.follow(ctx, http.MethodPost, "", body, options)
	if err != nil && ctx.Err() != nil {
		brief, stop := context.WithTimeout(context.WithoutCancel(ctx), 400*time.Millisecond)
		defer stop()
		_ = CancelCall(brief, c, state.InvocationID) // the caller is told of the end of the context
		err = &CallError{Class: ErrCanceled, Message: err.Error(), InvocationID: state.InvocationID, Cause: context.Cause(ctx)}
	}
	if err == nil {
		err = state.decode(&output)
	}
	return output, err
}

// ResultOf gives the result of a call that was made before, by the id that its CallError has.
func ResultOf[O any](ctx context.Context, c *Client, invocationID string, options ...CallOption) (output O, err error) {
	state, err := c.follow(ctx, http.MethodGet, url.PathEscape(invocationID)+"/events", nil, options)
	if err == nil {
		err = state.decode(&output)
	}
	return output, err
}

// CancelCall cancels a call at Ferrule.
func CancelCall(ctx context.Context, c *Client, invocationID string) error {
	_, err := c.ask(ctx, http.MethodPost, url.PathEscape(invocationID)+"/cancel", []byte("{}"), &callOptions{})
	return err
}

// follow waits until a call has ended, or needs an answer that nobody waits for.
func (c *Client) follow(ctx context.Context, method, place string, body []byte, options []CallOption) (callState, error) {
	chosen := &callOptions{}
	for _, option := range options {
		option(chosen)
	}
	state, err := c.ask(ctx, method, place, body, chosen)
	for err == nil && state.IsPending {
		if !chosen.waits && state.needsAnswer() {
			return state, &CallError{Class: ErrPending, Code: state.State, Message: state.Message, InvocationID: state.InvocationID}
		}
		select { // the stream of events has ended before the call did
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		state, err = c.ask(ctx, http.MethodGet, url.PathEscape(state.InvocationID), nil, chosen)
	}
	return state, err
}

// ask makes one request, and reads the state of a call out of the answer: its last event, or all of it.
func (c *Client) ask(ctx context.Context, method, place string, body []byte, chosen *callOptions) (state callState, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath("v1/calls", place).String(), bytes.NewReader(body))
	if err != nil {
		return state, err
	}
	if place == "" || strings.HasSuffix(place, "/events") {
		request.Header.Set("Accept", "text/event-stream")
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if chosen.key != "" {
		request.Header.Set("Idempotency-Key", chosen.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return state, state.failure(0, err)
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		_, state.InvocationID, _ = strings.Cut(response.Header.Get("Content-Location"), "/calls/")
		err = state.readEvents(response.Body, chosen)
	} else {
		err = json.NewDecoder(response.Body).Decode(&state)
	}
	seconds, _ := strconv.ParseFloat(response.Header.Get("Retry-After"), 64)
	state.Result.Error.Retry.After = max(seconds, state.Result.Error.Retry.After)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices || state.Result.Error.Class != "" {
		err = state.failure(response.StatusCode, err)
	}
	return state, err
}

// failure gives the error of a call that failed, of a request that was refused, or of an answer that never came.
func (s *callState) failure(status int, cause error) error {
	said := s.Result.Error
	failure := &CallError{Class: said.Class, Code: said.Code, Message: said.Message, InvocationID: s.InvocationID, Status: status}
	failure.IsRetrySafe = said.Retry.IsSafe || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	failure.RetryAfter, failure.Cause = time.Duration(said.Retry.After*float64(time.Second)), cause
	switch {
	case said.Class == "" && status >= http.StatusMultipleChoices:
		failure.Class, failure.Code, failure.Message = ErrRequest, s.Code, s.Detail+s.Message
	case said.Class == "":
		failure.Class = ErrConnection
	}
	if failure.Message == "" && cause != nil {
		failure.Message = cause.Error()
	} else if failure.Message == "" {
		failure.Message = "the answer was " + http.StatusText(status)
	}
	return failure
}

func (s *callState) needsAnswer() bool {
	return strings.HasPrefix(s.State, "awaiting") || strings.HasPrefix(s.State, "waiting")
}

func (s *callState) readEvents(body io.Reader, chosen *callOptions) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 256<<20)
	for kind := ""; lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event":
			kind = value
		case field == "data" && kind == "progress":
			var progress Progress
			if chosen.progress != nil && json.Unmarshal([]byte(value), &progress) == nil {
				chosen.progress(progress)
			}
		case field == "data":
			err := json.Unmarshal([]byte(value), s)
			if err != nil || kind == "result" || kind == "waiting" && !chosen.waits && s.needsAnswer() {
				return err
			}
		}
	}
	if s.IsPending = s.InvocationID != ""; s.IsPending && lines.Err() == nil {
		return nil
	}
	return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}

// decode reads the output of a call. A text is a text; it is read as JSON only where the tool gives no text.
func (s *callState) decode(output any) error {
	var texts []string
	isEmpty := true
	for _, each := range s.Result.Content {
		texts = append(texts, each.Text)
		isEmpty = isEmpty && each.Empty
	}
	text := []byte(strings.Join(texts, "\n"))
	value := s.Result.StructuredContent
	if isEmpty && len(value) == 0 {
		value = []byte("null")
	} else if len(value) == 0 || string(value) == "null" && !isEmpty {
		value, _ = json.Marshal(string(text))
	}
	err := read(value, output)
	if s.State == "" {
		err = errors.New("the answer has no result")
	}
	if err != nil && value[0] == '"' && json.Valid(text) {
		err = read(text, output)
	}
	if err != nil {
		return &CallError{Class: ErrUnexpectedResult, Message: err.Error(), InvocationID: s.InvocationID, Cause: err}
	}
	return nil
}
