package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"bench/ferruleclient"
)

// A program for tests: each line is an answer that something in the place of Ferrule gives, and the program tells what a client
// makes of it.

type question struct {
	Tool    string            `json:"tool"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Hangs   bool              `json:"hangs"`
	Later   bool              `json:"later"`
}

type told struct {
	Value      json.RawMessage `json:"value"`
	Kind       string          `json:"kind"`
	Message    string          `json:"message"`
	Code       string          `json:"code"`
	Status     int             `json:"status"`
	RetryAfter float64         `json:"retry_after"`
	IsSafe     bool            `json:"is_safe"`
	Invocation string          `json:"invocation"`
	IsBase     bool            `json:"is_base"`
	Seconds    float64         `json:"seconds"`
	Cancels    int32           `json:"cancels"`
	IsCause    bool            `json:"is_cause"`
}

func main() {
	lines := json.NewDecoder(os.Stdin)
	for {
		var asked question
		if err := lines.Decode(&asked); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			panic(err)
		}
		text, err := json.Marshal(asked.tried())
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}

func (q question) tried() told {
	var cancels atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if strings.HasSuffix(in.URL.Path, "/cancel") {
			cancels.Add(1)
			if q.Hangs {
				time.Sleep(700 * time.Millisecond)
			}
			return
		}
		_, _ = io.Copy(io.Discard, in.Body)
		for name, value := range q.Headers {
			out.Header().Set(name, value)
		}
		out.WriteHeader(q.Status)
		_, _ = io.WriteString(out, q.Body)
		out.(http.Flusher).Flush()
		if q.Hangs {
			time.Sleep(time.Second)
		}
	}))
	defer server.Close()
	if q.Status == 0 {
		server.Close()
	}
	client, err := ferruleclient.NewClient(server.URL, "")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	if q.Hangs {
		ctx, stop = context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer stop()
	}
	began := time.Now()
	value, err := q.called(ctx, client)
	made := tellingOf(err)
	made.Seconds = time.Since(began).Seconds()
	made.Value, _ = json.Marshal(value)
	made.Cancels = cancels.Load()
	return made
}

func (q question) called(ctx context.Context, client *ferruleclient.Client) (any, error) {
	if q.Later {
		return ferruleclient.ResultOf[ferruleclient.TextOutput](ctx, client, "inv_1")
	}
	switch q.Tool {
	case "text":
		return client.Text(ctx, ferruleclient.TextInput{})
	case "maybe":
		return client.Maybe(ctx, ferruleclient.MaybeInput{})
	case "count":
		return client.Count(ctx, ferruleclient.CountInput{})
	case "word":
		return client.Word(ctx, ferruleclient.WordInput{Word: ferruleclient.WordWordA})
	}
	return client.Loose(ctx, ferruleclient.LooseInput{})
}

func tellingOf(err error) told {
	if err == nil {
		return told{}
	}
	made := told{Message: err.Error()}
	var base *ferruleclient.CallError
	if made.IsBase = errors.As(err, &base); made.IsBase {
		made.Kind, made.Code, made.Status, made.Invocation = string(base.Class), base.Code, base.Status, base.InvocationID
		made.RetryAfter, made.IsSafe = base.RetryAfter.Seconds(), base.IsRetrySafe
	}
	var dialled *net.OpError
	made.IsCause = errors.As(err, &dialled) && errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, context.DeadlineExceeded)
	return made
}
