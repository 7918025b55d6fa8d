package support

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// callState is what Ferrule tells of a call, or of a request that it refuses.
type callState struct {
	InvocationID string      `json:"invocation_id"`
	State        string      `json:"state"`
	IsPending    bool        `json:"is_pending"`
	Message      string      `json:"message"`
	ExpiresAt    *time.Time  `json:"expires_at"`
	Result       *callResult `json:"result"`
	Code         string      `json:"code"`
	Detail       string      `json:"detail"`
	ErrorClass   string      `json:"error_class"`
}

type callResult struct {
	InvocationID      string          `json:"invocation_id"`
	IsError           bool            `json:"is_error"`
	StructuredContent json.RawMessage `json:"structured_content"`
	Content           []callContent   `json:"content"`
	Error             *callFailure    `json:"error"`
}

type callContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Empty says that the text is about a tool that gave nothing.
	Empty bool `json:"empty"`
}

type callFailure struct {
	ErrorClass     string `json:"error_class"`
	ErrorCode      string `json:"error_code"`
	Message        string `json:"message"`
	Recoverability string `json:"recoverability"`
	Retry          struct {
		RetrySafe  bool     `json:"retry_safe"`
		RetryAfter *float64 `json:"retry_after"`
	} `json:"retry"`
	RetryAfter *float64 `json:"retry_after"`
}

// readState reads what Ferrule tells of a call.
func readState(answer *http.Response) (*callState, error) {
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, connectionError("the answer of Ferrule broke off", err)
	}
	state := &callState{}
	if err := json.Unmarshal(data, state); err != nil {
		message := fmt.Sprintf("the answer was %s, and no answer of Ferrule: %s", answer.Status, contentType(answer))
		return nil, requestError(answer, CallError{Message: message})
	}
	return state, nil
}

func contentType(answer *http.Response) string {
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if kind == "" {
		return "of no type"
	}
	return kind
}

// failure gives the error of a call that ended without success, and nil for any other. The answer is nil where the state came
// in a stream of events.
func (s *callState) failure(answer *http.Response) error {
	base := CallError{Class: s.ErrorClass, Code: s.Code, Message: s.Detail, InvocationID: s.InvocationID}
	if answer != nil {
		base.Status, base.RetryAfter = answer.StatusCode, retryAfter(answer)
	}
	switch {
	case s.Result != nil && s.Result.Error != nil:
		s.Result.Error.fill(&base)
		return classified(base)
	case s.Result != nil && s.Result.IsError:
		base.Message = s.Result.text()
		return classified(base)
	case answer == nil || answer.StatusCode < http.StatusBadRequest:
		return nil
	case base.Class != "":
		return classified(base)
	}
	if base.Message == "" {
		base.Message = s.Message
	}
	return requestError(answer, base)
}

// requestError gives the error of an answer that tells of no call.
func requestError(answer *http.Response, base CallError) error {
	base.Status, base.RetryAfter = answer.StatusCode, retryAfter(answer)
	base.IsRetrySafe = answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusServiceUnavailable
	if base.Code == "" {
		base.Code = "http_" + strconv.Itoa(answer.StatusCode)
	}
	if base.Message == "" {
		base.Message = "the answer was " + answer.Status + ", without a reason"
	}
	return &RequestError{base}
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(answer *http.Response) time.Duration {
	said := answer.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(said, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(said); err == nil && time.Until(date) > 0 {
		return time.Until(date)
	}
	return 0
}

func connectionError(message string, cause error) error {
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &ConnectionError{CallError{Code: "connection", Message: message, cause: cause}}
}

func unexpectedResult(message, invocation string, cause error) error {
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &UnexpectedResultError{CallError{Code: "unexpected_result", Message: message, InvocationID: invocation, cause: cause}}
}

func (f *callFailure) fill(base *CallError) {
	base.Class, base.Code, base.Message = f.ErrorClass, f.ErrorCode, f.Message
	base.Recoverability, base.IsRetrySafe = f.Recoverability, f.Retry.RetrySafe
	for _, seconds := range []*float64{f.Retry.RetryAfter, f.RetryAfter} {
		if seconds != nil {
			base.RetryAfter = time.Duration(*seconds * float64(time.Second))
		}
	}
}

// text gives the texts of the result, one below the other.
func (r *callResult) text() string {
	var texts []string
	for _, each := range r.Content {
		if each.Type == "text" {
			texts = append(texts, each.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// value gives the JSON of a result that is no text, and nil for one that is.
func (r *callResult) value() []byte {
	if len(r.StructuredContent) > 0 && string(r.StructuredContent) != "null" {
		return r.StructuredContent
	}
	if len(r.Content) == 1 && r.Content[0].Empty {
		return []byte("null")
	}
	return nil
}

// decodedResult makes the output of a result. A text is a text; it is read as JSON only where the tool cannot give that text, but
// what it says.
func decodedResult[O any](result *callResult, decode func([]byte) (O, error)) (O, error) {
	value, text := result.value(), result.text()
	if value == nil {
		value, _ = writeJSON(text, writeText)
	}
	output, err := decode(value)
	if err != nil && result.value() == nil && json.Valid([]byte(text)) {
		output, err = decode([]byte(text))
	}
	if err != nil {
		var none O
		return none, unexpectedResult("the result does not fit", result.InvocationID, err)
	}
	return output, nil
}
