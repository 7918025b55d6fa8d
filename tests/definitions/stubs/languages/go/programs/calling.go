package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"live/ferruleclient"
)

// A program for tests: it does with a client what clients do, and tells what came of it.

func main() {
	client, err := ferruleclient.NewClient("", "")
	if err != nil {
		panic(err)
	}
	told := map[string]any{}
	greet(client, told)
	fail(client, told)
	cancel(client, told)
	progress(client, told)
	refused(client, told)
	text, err := json.MarshalIndent(told, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, string(text))
}

func greet(client *ferruleclient.Client, told map[string]any) {
	ctx := context.Background()
	mood := ferruleclient.LiveGreetMoodGlad
	input := ferruleclient.LiveGreetInput{Name: "Ada", Times: ferruleclient.Ptr(int64(2)), Mood: &mood}
	first, err := client.LiveGreet(ctx, input, ferruleclient.CallOptions{IdempotencyKey: "once"})
	told["greeted"] = first.Words
	told["greet_error"] = fmt.Sprint(err)
	again, _ := client.LiveGreet(ctx, input, ferruleclient.CallOptions{IdempotencyKey: "once"})
	other, _ := client.LiveGreet(ctx, input)
	told["calls"] = []int64{first.Call, again.Call - first.Call, other.Call - first.Call}
	plain, _ := client.LiveGreet(ctx, ferruleclient.LiveGreetInput{Name: "Bob"})
	told["no_mood"] = plain.Mood == nil
	echo, err := client.LiveEcho(ctx, ferruleclient.LiveEchoInput{Value: json.RawMessage(`[1,null,"x"]`)})
	told["echo"] = echo
	told["echo_error"] = fmt.Sprint(err)
}

func fail(client *ferruleclient.Client, told map[string]any) {
	ctx := context.Background()
	_, err := client.LiveForbidden(ctx, ferruleclient.LiveForbiddenInput{Meant: true})
	var base *ferruleclient.CallError
	told["denied"] = errors.Is(err, ferruleclient.ErrPermissionDenied) && errors.As(err, &base) && base.InvocationID != ""
	_, err = client.LiveBusy(ctx, ferruleclient.LiveBusyInput{})
	told["busy"] = errors.Is(err, ferruleclient.ErrRateLimited) && errors.As(err, &base) && base.RetryAfter == 1500*time.Millisecond
	_, err = client.LiveBreak(ctx, ferruleclient.LiveBreakInput{Why: "because"})
	told["broken"] = errors.Is(err, ferruleclient.ErrExecutionFailed) && errors.As(err, &base) && base.Message == "because"
	_, err = client.LiveGreet(ctx, ferruleclient.LiveGreetInput{Name: "Ada", Times: ferruleclient.Ptr(int64(0))})
	told["invalid"] = errors.Is(err, ferruleclient.ErrSchemaValidationFailed)
	_, err = client.LiveAskFirst(ctx, ferruleclient.LiveAskFirstInput{})
	told["pending"] = errors.Is(err, ferruleclient.ErrPending) && errors.As(err, &base) && base.Code == "awaiting_approval"
	takenUp(client, told, base.InvocationID)
}

func takenUp(client *ferruleclient.Client, told map[string]any, invocation string) {
	ctx := context.Background()
	_, err := ferruleclient.ResultOf[any](ctx, client, invocation)
	var base *ferruleclient.CallError
	told["still_pending"] = errors.Is(err, ferruleclient.ErrPending) && errors.As(err, &base) && base.InvocationID == invocation
	told["cancel_error"] = fmt.Sprint(ferruleclient.CancelCall(ctx, client, invocation))
	_, err = ferruleclient.ResultOf[any](ctx, client, invocation, ferruleclient.CallOptions{IsPatient: true})
	told["taken_back"] = errors.Is(err, ferruleclient.ErrCanceled) && errors.As(err, &base) && base.InvocationID == invocation
	told["no_such_call"] = errors.Is(ferruleclient.CancelCall(ctx, client, "inv_nowhere"), ferruleclient.ErrRequest)
}

func cancel(client *ferruleclient.Client, told map[string]any) {
	ctx, stop := context.WithCancel(context.Background())
	input := ferruleclient.LiveCountInput{Steps: 100, Seconds: 60}
	_, err := client.LiveCount(ctx, input, ferruleclient.CallOptions{OnProgress: func(ferruleclient.Progress) { stop() }})
	var base *ferruleclient.CallError
	told["canceled"] = errors.Is(err, ferruleclient.ErrCanceled) && errors.Is(err, context.Canceled)
	if errors.As(err, &base) {
		told["invocation"] = base.InvocationID
	}
	ctx, stop = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	_, err = client.LiveCount(ctx, input)
	told["late"] = errors.Is(err, context.DeadlineExceeded)
}

func progress(client *ferruleclient.Client, told map[string]any) {
	var steps []string
	tell := func(each ferruleclient.Progress) { steps = append(steps, fmt.Sprint(each.Message, " ", *each.Percent)) }
	input := ferruleclient.LiveCountInput{Steps: 2, Seconds: 0.2}
	counted, err := client.LiveCount(context.Background(), input, ferruleclient.CallOptions{OnProgress: tell})
	told["steps"] = steps
	told["counted"] = counted.Counted
	told["count_error"] = fmt.Sprint(err)
}

func refused(client *ferruleclient.Client, told map[string]any) {
	stranger, err := ferruleclient.NewClient("", "wrong")
	if err != nil {
		panic(err)
	}
	_, err = stranger.LiveGreet(context.Background(), ferruleclient.LiveGreetInput{Name: "Ada"})
	var base *ferruleclient.CallError
	told["stranger"] = errors.As(err, &base) && base.Status == 401
	_, err = ferruleclient.NewClient("nowhere", "")
	told["nowhere"] = err != nil
	absent, _ := ferruleclient.NewClient("http://127.0.0.1:1", "")
	_, err = absent.LiveGreet(context.Background(), ferruleclient.LiveGreetInput{Name: "Ada"})
	told["absent"] = errors.Is(err, ferruleclient.ErrConnection)
	_, err = ferruleclient.NewClient("http://tools.example", "secret")
	_, plain := ferruleclient.NewClient("http://tools.example", "")
	_, secure := ferruleclient.NewClient("https://tools.example", "secret")
	_, here := ferruleclient.NewClient("http://[::1]:8787", "secret")
	told["unencrypted"] = err != nil && plain != nil && secure == nil && here == nil
}
