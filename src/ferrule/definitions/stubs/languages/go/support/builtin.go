package support

import (
	"context"
	"sync"
)

// sharedClient is made when a tool that Ferrule runs is called first.
var sharedClient = sync.OnceValues(func() (*Client, error) { return NewClient() })

// viaFerrule is the work of a tool that Ferrule itself brings along: it is called there.
func viaFerrule[I, O any](call func(*Client, context.Context, I, ...CallOption) (O, error)) Handler[I, O] {
	return func(ctx context.Context, input I) (O, error) {
		client, err := sharedClient()
		if err != nil {
			var none O
			return none, err
		}
		return call(client, ctx, input, WithProgress(func(progress Progress) {
			if progress.Percent != nil {
				ReportProgress(ctx, *progress.Percent, 100, progress.Message)
			}
		}))
	}
}
