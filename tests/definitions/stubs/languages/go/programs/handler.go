	ReportProgress(ctx, 1, 2, "half way")
	if input.Name == "wait" {
		<-ctx.Done()
		os.Stderr.WriteString("canceled\n")
		return GreetOutput{}, ctx.Err()
	}
	if input.Name == "slow" {
		time.Sleep(300 * time.Millisecond)
	}
	if input.Name == "panic" {
		panic("oh")
	}
	if input.Name == "wrong" {
		return GreetOutput{}, nil
	}
	output := GreetOutput{Words: []string{"hello " + input.Name}}
	if input.Mood != nil {
		output.Mood = Ptr(GreetOutputMood(*input.Mood))
	}
	return output, nil
