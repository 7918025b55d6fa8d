package support

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"strings"
)

var (
	wholeVariable  = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)$`)
	variableInside = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:?-[^}]*)?\}`)
)

// environment fills in settings: $NAME, ${NAME} and ${NAME:-default} are environment variables.
type environment struct {
	// missing has the variables that are neither set nor have a default, in the order of the settings.
	missing []string
}

// text fills in a text.
func (e *environment) text(written string) string {
	if whole := wholeVariable.FindStringSubmatch(written); whole != nil {
		return e.variable(whole[1], "")
	}
	return variableInside.ReplaceAllStringFunc(written, func(found string) string {
		parts := variableInside.FindStringSubmatch(found)
		return e.variable(parts[1], parts[2])
	})
}

// variable gives an environment variable, or its default, which is what follows a - or :-. An empty one counts as not set.
func (e *environment) variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	if otherwise == "" {
		e.miss(name)
	}
	return strings.TrimPrefix(strings.TrimPrefix(otherwise, ":"), "-")
}

func (e *environment) miss(name string) {
	for _, known := range e.missing {
		if known == name {
			return
		}
	}
	e.missing = append(e.missing, name)
}

// value gives what a JSON text says, with its own texts filled in. Numbers are json.Number.
func (e *environment) value(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	_ = decoder.Decode(&value)
	return e.filled(value)
}

func (e *environment) filled(value any) any {
	switch value := value.(type) {
	case string:
		return e.text(value)
	case []any:
		for place, item := range value {
			value[place] = e.filled(item)
		}
	case map[string]any:
		for name, item := range value {
			value[name] = e.filled(item)
		}
	}
	return value
}

// tell warns of the variables that are missing.
func (e *environment) tell(logger *slog.Logger) {
	if logger == nil {
		logger = slog.Default()
	}
	for _, name := range e.missing {
		logger.Warn("a setting is empty, because its environment variable is not set", "variable", name)
	}
}
