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
	client, err := ferruleclient.NewClient()
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
	input := ferruleclient.LiveGreetInput{Name: "Ada", Times: ferruleclient.PointerTo(int64(2)), Mood: &mood}
	first, err := client.LiveGreet(ctx, input, ferruleclient.WithIdempotencyKey("once"))
	told["greeted"] = first.Words
	told["greet_error"] = fmt.Sprint(err)
	again, _ := client.LiveGreet(ctx, input, ferruleclient.WithIdempotencyKey("once"))
	other, _ := client.LiveGreet(ctx, input)
	told["calls"] = []int64{first.Call, again.Call - first.Call, other.Call - first.Call}
	plain, _ := client.LiveGreet(ctx, ferruleclient.LiveGreetInput{Name: "Bob"})
	told["no_mood"] = plain.Mood == nil
	echo, err := client.LiveEcho(ctx, ferruleclient.LiveEchoInput{Value: []any{1, nil, "x"}})
	told["echo"] = echo
	told["echo_error"] = fmt.Sprint(err)
}

func fail(client *ferruleclient.Client, told map[string]any) {
	ctx := context.Background()
	_, err := client.LiveForbidden(ctx, ferruleclient.LiveForbiddenInput{Meant: true})
	var denied *ferruleclient.PermissionDeniedError
	var base *ferruleclient.CallError
	told["denied"] = errors.As(err, &denied) && errors.As(err, &base) && base.Class == "permission_denied" && base.InvocationID != ""
	_, err = client.LiveBusy(ctx, ferruleclient.LiveBusyInput{})
	var busy *ferruleclient.RateLimitedError
	told["busy"] = errors.As(err, &busy) && busy.RetryAfter == 1500*time.Millisecond
	_, err = client.LiveBreak(ctx, ferruleclient.LiveBreakInput{Why: "because"})
	var broken *ferruleclient.ExecutionFailedError
	told["broken"] = errors.As(err, &broken) && broken.Message == "because"
	_, err = client.LiveGreet(ctx, ferruleclient.LiveGreetInput{Name: "Ada", Times: ferruleclient.PointerTo(int64(0))})
	var invalid *ferruleclient.SchemaValidationFailedError
	told["invalid"] = errors.As(err, &invalid)
	_, err = client.LiveAskFirst(ctx, ferruleclient.LiveAskFirstInput{})
	var pending *ferruleclient.PendingError
	told["pending"] = errors.As(err, &pending) && pending.State == "awaiting_approval" && !pending.ExpiresAt.IsZero()
	if pending != nil {
		takenUp(client, told, pending.InvocationID)
	}
}

func takenUp(client *ferruleclient.Client, told map[string]any, invocation string) {
	ctx := context.Background()
	_, err := ferruleclient.ResultOf(ctx, client, invocation, ferruleclient.DecodeLiveAskFirstOutput)
	var pending *ferruleclient.PendingError
	told["still_pending"] = errors.As(err, &pending) && pending.InvocationID == invocation
	told["cancel_error"] = fmt.Sprint(ferruleclient.CancelCall(ctx, client, invocation))
	_, err = ferruleclient.ResultOf(ctx, client, invocation, ferruleclient.DecodeLiveAskFirstOutput, ferruleclient.WithWaiting())
	var canceled *ferruleclient.CanceledError
	told["taken_back"] = errors.As(err, &canceled) && canceled.InvocationID == invocation
	var refused *ferruleclient.RequestError
	told["no_such_call"] = errors.As(ferruleclient.CancelCall(ctx, client, "inv_nowhere"), &refused)
}

func cancel(client *ferruleclient.Client, told map[string]any) {
	ctx, stop := context.WithCancel(context.Background())
	input := ferruleclient.LiveCountInput{Steps: 100, Seconds: 60}
	_, err := client.LiveCount(ctx, input, ferruleclient.WithProgress(func(ferruleclient.Progress) { stop() }))
	var canceled *ferruleclient.CanceledError
	told["canceled"] = errors.As(err, &canceled) && errors.Is(err, context.Canceled)
	if canceled != nil {
		told["invocation"] = canceled.InvocationID
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
	counted, err := client.LiveCount(context.Background(), input, ferruleclient.WithProgress(tell))
	told["steps"] = steps
	told["counted"] = counted.Counted
	told["count_error"] = fmt.Sprint(err)
}

func refused(client *ferruleclient.Client, told map[string]any) {
	stranger, err := ferruleclient.NewClient(ferruleclient.WithToken("wrong"))
	if err != nil {
		panic(err)
	}
	_, err = stranger.LiveGreet(context.Background(), ferruleclient.LiveGreetInput{Name: "Ada"})
	var base *ferruleclient.CallError
	told["stranger"] = errors.As(err, &base) && base.Status == 401
	_, err = ferruleclient.NewClient(ferruleclient.WithURL("nowhere"))
	told["nowhere"] = err != nil
	absent, _ := ferruleclient.NewClient(ferruleclient.WithURL("http://127.0.0.1:1"))
	_, err = absent.LiveGreet(context.Background(), ferruleclient.LiveGreetInput{Name: "Ada"})
	var unreachable *ferruleclient.ConnectionError
	told["absent"] = errors.As(err, &unreachable)
}
