package support

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// cancelGrace is how long a caller whose context has ended waits until the call is canceled at Ferrule too; after that it goes
	// on without the caller, for cancelPatience at most.
	cancelGrace    = 400 * time.Millisecond
	cancelPatience = 10 * time.Second
	pollPause      = time.Second
	// mostLosses is how often a broken connection is taken up again.
	mostLosses = 3
)

// exchange is one call that goes on by itself, so that its end can be awaited together with the context.
type exchange struct {
	client  *Client
	options *callOptions
	// identity gets the id of the call once.
	identity chan string
	end      chan exchangeEnd
	// isLeft is set once nobody waits for the call any more.
	isLeft atomic.Bool
}

type exchangeEnd struct {
	result *callResult
	err    error
}

func newExchange(client *Client, options *callOptions) *exchange {
	return &exchange{client: client, options: options, identity: make(chan string, 1), end: make(chan exchangeEnd, 1)}
}

func (c *Client) call(ctx context.Context, name string, arguments []byte, options *callOptions) (*callResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, canceledBy(context.Cause(ctx), "")
	}
	body, err := json.Marshal(map[string]any{"tool": name, "arguments": json.RawMessage(arguments)})
	if err != nil {
		return nil, err
	}
	under, stop := context.WithCancel(context.WithoutCancel(ctx))
	going := newExchange(c, options)
	go func() {
		result, err := going.open(under, http.MethodPost, "/v1/calls", body)
		going.end <- exchangeEnd{result, err}
	}()
	select {
	case end := <-going.end:
		stop()
		return end.result, end.err
	case <-ctx.Done():
		return nil, canceledBy(context.Cause(ctx), going.abandon(under, stop))
	}
}

func canceledBy(cause error, invocation string) error {
	message := "the caller ended the call: " + cause.Error()
	return &CanceledError{CallError{
		Class: "canceled", Code: "canceled", Message: message, InvocationID: invocation, Recoverability: "retry", cause: cause,
	}}
}

// abandon cancels the call at Ferrule as soon as its id is known, and gives the id if it is known soon.
func (e *exchange) abandon(ctx context.Context, stop context.CancelFunc) string {
	e.isLeft.Store(true)
	known, done := make(chan string, 1), make(chan struct{})
	go func() {
		defer stop()
		defer close(done)
		e.cancel(ctx, known)
	}()
	select {
	case <-done:
	case <-time.After(cancelGrace):
	}
	select {
	case invocation := <-known:
		return invocation
	default:
		return ""
	}
}

func (e *exchange) cancel(ctx context.Context, known chan<- string) {
	ctx, stop := context.WithTimeout(ctx, cancelPatience)
	defer stop()
	select {
	case invocation := <-e.identity:
		known <- invocation
		// Nobody is left to be told what comes of it.
		_ = CancelCall(ctx, e.client, invocation)
	case <-e.end:
	case <-ctx.Done():
	}
}

// resultOf follows a call that was made before.
func (c *Client) resultOf(ctx context.Context, invocation string, options *callOptions) (*callResult, error) {
	result, err := newExchange(c, options).open(ctx, http.MethodGet, callPath(invocation)+"/events", nil)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		message := "the wait for the call has ended: " + cause.Error()
		return nil, &CallError{Message: message, InvocationID: invocation, cause: cause}
	}
	return result, err
}

// open sends a request that Ferrule answers with the events of a call, and follows them to the end.
func (e *exchange) open(ctx context.Context, method, place string, body []byte) (*callResult, error) {
	headers := map[string]string{
		"Accept":          "text/event-stream",
		"Idempotency-Key": e.options.idempotencyKey,
		"Ferrule-Run":     e.options.run,
	}
	answer, err := e.client.send(ctx, method, place, body, headers)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		invocation := ""
		if told := answer.Header.Get("Content-Location"); told != "" {
			invocation = path.Base(told)
		}
		e.identify(invocation)
		return e.follow(ctx, invocation, answer.Body)
	}
	state, err := readState(answer)
	if err != nil {
		return nil, err
	}
	e.identify(state.InvocationID)
	return e.ended(ctx, state, answer)
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

// follow reads the events of a call until it has ended.
func (e *exchange) follow(ctx context.Context, invocation string, stream io.Reader) (*callResult, error) {
	lines := eventLines(stream)
	for {
		event, found := nextEvent(lines)
		if !found {
			return e.afterStream(ctx, invocation, lines.Err())
		}
		if event.kind == "progress" {
			e.told(event.data)
			continue
		}
		state := &callState{}
		if err := json.Unmarshal([]byte(event.data), state); err != nil {
			return nil, unexpectedResult("an event of Ferrule is not as it must be", invocation, err)
		}
		if state.InvocationID != "" {
			invocation = state.InvocationID
		}
		e.identify(invocation)
		if event.kind == "result" || event.kind == "waiting" && isWaiting(state.State) && !e.options.waits {
			return e.ended(ctx, state, nil)
		}
	}
}

// afterStream asks for a call whose stream was cut off.
func (e *exchange) afterStream(ctx context.Context, invocation string, err error) (*callResult, error) {
	if invocation == "" || ctx.Err() != nil {
		return nil, connectionError("the answer of Ferrule broke off before it told anything", err)
	}
	return e.poll(ctx, invocation)
}

func (e *exchange) told(data string) {
	var progress Progress
	if e.options.progress != nil && !e.isLeft.Load() && json.Unmarshal([]byte(data), &progress) == nil {
		e.options.progress(progress)
	}
}

// ended gives the result of a call that is over, and waits on for one that is not where that is wanted.
func (e *exchange) ended(ctx context.Context, state *callState, answer *http.Response) (*callResult, error) {
	if state.IsPending {
		if isWaiting(state.State) && !e.options.waits {
			return nil, pendingError(state)
		}
		return e.poll(ctx, state.InvocationID)
	}
	if err := state.failure(answer); err != nil {
		return nil, err
	}
	if state.Result == nil {
		return nil, unexpectedResult("Ferrule gave no result", state.InvocationID, nil)
	}
	state.Result.InvocationID = state.InvocationID
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

// poll follows a call whose stream has ended before it did. A connection that breaks is tried again a few times.
func (e *exchange) poll(ctx context.Context, invocation string) (*callResult, error) {
	for losses := 0; ; {
		state, answer, err := e.client.look(ctx, invocation)
		var lost *ConnectionError
		switch {
		case errors.As(err, &lost):
			lost.InvocationID = invocation
			if losses++; losses > mostLosses {
				return nil, err
			}
		case err != nil:
			return nil, err
		case !state.IsPending || isWaiting(state.State) && !e.options.waits:
			return e.ended(ctx, state, answer)
		}
		select {
		case <-ctx.Done():
			return nil, connectionError("nobody waits any more", ctx.Err())
		case <-time.After(pollPause):
		}
	}
}

// look asks where a call stands, and waits a while if it has not ended.
func (c *Client) look(ctx context.Context, invocation string) (*callState, *http.Response, error) {
	answer, err := c.send(ctx, http.MethodGet, callPath(invocation), nil, map[string]string{"Prefer": "wait=20"})
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	state, err := readState(answer)
	return state, answer, err
}
