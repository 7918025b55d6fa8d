package support

import (
	"bufio"
	"io"
	"strings"
)

const longestEvent = 256 << 20

// serverEvent is one of a stream of events.
type serverEvent struct {
	kind string
	data string
}

// eventLines gives the lines of a stream of events.
func eventLines(stream io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), longestEvent)
	return lines
}

// nextEvent reads one event; keep-alive comments are passed over. At the end of the stream it gives false.
func nextEvent(lines *bufio.Scanner) (serverEvent, bool) {
	var event serverEvent
	var data []string
	for lines.Scan() {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && len(data) > 0:
			event.data = strings.Join(data, "\n")
			return event, true
		case field == "event":
			event.kind = value
		case field == "data":
			data = append(data, value)
		}
	}
	return event, false
}
