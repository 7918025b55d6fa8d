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

// NewClient makes a client for Ferrule at an address like http://127.0.0.1:8787. Where the address or the bearer token is empty,
// FERRULE_URL or FERRULE_TOKEN says it. A token is sent over https, and over http to this very machine only.
func NewClient(address, token string) (*Client, error) {
	address, token = cmp.Or(address, os.Getenv("FERRULE_URL")), cmp.Or(token, os.Getenv("FERRULE_TOKEN"))
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("the address of Ferrule is %q: give one like http://127.0.0.1:8787", address)
	}
	isHere := base.Hostname() == "localhost" || net.ParseIP(base.Hostname()).IsLoopback()
	if token != "" && base.Scheme != "https" && !isHere {
		return nil, fmt.Errorf("the token would be sent to %s unencrypted: use https", base.Host)
	}
	client := &Client{base: base, token: token}
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, nil
}

// CallOptions are choices about one call.
type CallOptions struct {
	// IdempotencyKey makes a call happen once, however often it is made with this key.
	IdempotencyKey string
	// OnProgress is told how far the call is.
	OnProgress func(Progress)
	// IsPatient makes the call wait for a person's answer. Without it, one that needs an answer ends with ErrPending.
	IsPatient bool
}

// Progress is how far a call is.
type Progress struct {
	Message     string
	Percent     *float64
	CurrentStep string `json:"current_step"`
	TotalSteps  int    `json:"total_steps"`
}

// ErrorClass says what kind of failure an error is: errors.Is(err, ErrPermissionDenied).
type ErrorClass string

func (c ErrorClass) Error() string { return string(c) }

// CallError is a call without a result. InvocationID is empty where no call was begun, Status where there was no answer; Cause is
// what went wrong on this side: the end of the context, an error of the network.
type CallError struct {
	Class         ErrorClass
	Code, Message string
	InvocationID  string
	Status        int
	IsRetrySafe   bool
	RetryAfter    time.Duration
	Cause         error
}

func (e *CallError) Error() string        { return fmt.Sprintf("%s: %s", e.Class, e.Message) }
func (e *CallError) Is(target error) bool { return target == e.Class }
func (e *CallError) Unwrap() error        { return e.Cause }

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
func call[O any](ctx context.Context, c *Client, name string, input any, options []CallOptions) (output O, err error) {
	body, err := json.Marshal(map[string]any{"tool": name, "arguments": input})
	if err == nil {
		err = c.follow(ctx, "", body, options, &output)
	}
	return output, err
}

// ResultOf gives the result of a call that was made before, by the id that its CallError has.
func ResultOf[O any](ctx context.Context, c *Client, invocationID string, options ...CallOptions) (output O, err error) {
	err = c.follow(ctx, url.PathEscape(invocationID)+"/events", nil, options, &output)
	return output, err
}

// CancelCall cancels a call at Ferrule.
func CancelCall(ctx context.Context, c *Client, invocationID string) error {
	_, err := c.ask(ctx, url.PathEscape(invocationID)+"/cancel", []byte("{}"), CallOptions{})
	return err
}

// follow waits until a call has ended, or needs an answer that nobody waits for.
func (c *Client) follow(ctx context.Context, place string, body []byte, options []CallOptions, output any) error {
	chosen := CallOptions{}
	if len(options) > 0 {
		chosen = options[0]
	}
	state, err := c.ask(ctx, place, body, chosen)
	id := state.InvocationID
	for err == nil && state.IsPending {
		if !chosen.IsPatient && state.needsAnswer() {
			return &CallError{Class: ErrPending, Code: state.State, Message: state.Message, InvocationID: id}
		}
		select { // the stream of events has ended before the call did
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		state, err = c.ask(ctx, url.PathEscape(id), nil, chosen)
	}
	if err != nil && ctx.Err() != nil && body != nil {
		brief, stop := context.WithTimeout(context.WithoutCancel(ctx), 400*time.Millisecond)
		defer stop()
		_ = CancelCall(brief, c, id) // the caller is told of the end of the context
		return &CallError{Class: ErrCanceled, Message: err.Error(), InvocationID: id, Cause: context.Cause(ctx)}
	}
	if err != nil {
		return err
	}
	return state.decode(output)
}

// ask makes one request, and reads the state of a call out of the answer: its last event, or all of it.
func (c *Client) ask(ctx context.Context, place string, body []byte, chosen CallOptions) (state callState, err error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath("v1/calls", place).String(), bytes.NewReader(body))
	if err != nil {
		return state, err
	}
	request.Header.Set("Content-Type", "application/json")
	if place == "" || strings.HasSuffix(place, "/events") {
		request.Header.Set("Accept", "text/event-stream")
	}
	if chosen.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", chosen.IdempotencyKey)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return state, &CallError{Class: ErrConnection, Message: err.Error(), Cause: err}
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		_, state.InvocationID, _ = strings.Cut(response.Header.Get("Content-Location"), "/calls/")
		err = state.readEvents(response.Body, chosen)
	} else {
		err = json.NewDecoder(response.Body).Decode(&state)
	}
	said, status := state.Result.Error, response.StatusCode
	if err == nil && said.Class == "" && status < http.StatusMultipleChoices {
		return state, nil
	}
	if said.Class == "" && status >= http.StatusMultipleChoices {
		said.Class, said.Code, said.Message = ErrRequest, state.Code, cmp.Or(state.Detail, state.Message, response.Status)
		said.Retry.IsSafe = status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
		said.Retry.After, _ = strconv.ParseFloat(response.Header.Get("Retry-After"), 64)
	} else if said.Class == "" {
		said.Class, said.Message = ErrConnection, err.Error()
	}
	return state, &CallError{said.Class, said.Code, said.Message, state.InvocationID, status, said.Retry.IsSafe,
		time.Duration(said.Retry.After * float64(time.Second)), err}
}

func (s *callState) needsAnswer() bool {
	return strings.HasPrefix(s.State, "awaiting") || strings.HasPrefix(s.State, "waiting")
}

func (s *callState) readEvents(body io.Reader, chosen CallOptions) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 256<<20)
	for kind := ""; lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		var progress Progress
		switch {
		case field == "event":
			kind = value
		case field == "data" && kind == "progress":
			if chosen.OnProgress != nil && json.Unmarshal([]byte(value), &progress) == nil {
				chosen.OnProgress(progress)
			}
		case field == "data":
			err := json.Unmarshal([]byte(value), s)
			if err != nil || kind == "result" || kind == "waiting" && !chosen.IsPatient && s.needsAnswer() {
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
	for _, each := range s.Result.Content {
		texts = append(texts, each.Text)
	}
	text, value := strings.Join(texts, "\n"), s.Result.StructuredContent
	if len(value) == 0 || string(value) == "null" {
		value, _ = json.Marshal(text)
		if len(texts) == 1 && s.Result.Content[0].Empty {
			value = []byte("null")
		}
	}
	err := read(value, output)
	if err != nil && json.Valid([]byte(text)) {
		err = read([]byte(text), output)
	}
	if s.State == "" {
		err = errors.New("the answer has no result")
	}
	if err != nil {
		return &CallError{Class: ErrUnexpectedResult, Message: err.Error(), InvocationID: s.InvocationID, Cause: err}
	}
	return nil
}
