package support

import "strconv"

// What a schema says of the items of a list, of the members of an object, and of other schemas.

func (r *schemaRun) checkItems(schema map[string]any, items []any, looked *seen) error {
	if least, ok := countOf(schema, "minItems"); ok && len(items) < least {
		return invalid("must have at least %s; it has %d", plural(least, "item"), len(items))
	}
	if most, ok := countOf(schema, "maxItems"); ok && len(items) > most {
		return invalid("must have at most %s; it has %d", plural(most, "item"), len(items))
	}
	if unique, _ := schema["uniqueItems"].(bool); unique {
		if err := checkUnique(items); err != nil {
			return err
		}
	}
	first, rest, hasRest := itemSchemas(schema)
	for place, item := range items {
		each, isChecked := rest, hasRest
		if place < len(first) {
			each, isChecked = first[place], true
		}
		if !isChecked {
			continue
		}
		if err := r.within(each, item); err != nil {
			return within(err, strconv.Itoa(place))
		}
		looked.item(place)
	}
	return r.checkContains(schema, items, looked)
}

// itemSchemas gives the schemas by position and that of what follows, in the words of any draft.
func itemSchemas(schema map[string]any) (first []any, rest any, hasRest bool) {
	if first, ok := schema["items"].([]any); ok {
		rest, hasRest = schema["additionalItems"]
		return first, rest, hasRest
	}
	first, _ = schema["prefixItems"].([]any)
	rest, hasRest = schema["items"]
	return first, rest, hasRest
}

func checkUnique(items []any) error {
	known := make(map[string]bool, len(items))
	for place, item := range items {
		key := typeName(item) + sameKey(item)
		if known[key] {
			return within(invalid("is there twice, and may be once"), strconv.Itoa(place))
		}
		known[key] = true
	}
	return nil
}

func (r *schemaRun) checkContains(schema map[string]any, items []any, looked *seen) error {
	wanted, ok := schema["contains"]
	if !ok {
		return nil
	}
	found := 0
	for place, item := range items {
		if err := r.within(wanted, item); err == nil {
			found++
			looked.item(place)
		}
	}
	least, isSaid := countOf(schema, "minContains")
	if !isSaid {
		least = 1
	}
	if found < least {
		return invalid("must have at least %s of a kind; it has %d", plural(least, "item"), found)
	}
	if most, ok := countOf(schema, "maxContains"); ok && found > most {
		return invalid("must have at most %s of a kind; it has %d", plural(most, "item"), found)
	}
	return nil
}

func (r *schemaRun) checkMembers(schema, members map[string]any, looked *seen) error {
	if least, ok := countOf(schema, "minProperties"); ok && len(members) < least {
		return invalid("must have at least %s; it has %d", plural(least, "member"), len(members))
	}
	if most, ok := countOf(schema, "maxProperties"); ok && len(members) > most {
		return invalid("must have at most %s; it has %d", plural(most, "member"), len(members))
	}
	if err := checkRequired(schema["required"], members); err != nil {
		return err
	}
	if err := r.checkDependent(schema, members, looked); err != nil {
		return err
	}
	if err := r.checkNames(schema, members); err != nil {
		return err
	}
	return r.checkNamed(schema, members, looked)
}

func checkRequired(names any, members map[string]any) error {
	list, _ := names.([]any)
	for _, each := range list {
		name, isText := each.(string)
		if _, found := members[name]; isText && !found {
			return within(invalid("is missing"), name)
		}
	}
	return nil
}

func (r *schemaRun) checkDependent(schema, members map[string]any, looked *seen) error {
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		wanted, _ := schema[keyword].(map[string]any)
		for _, name := range sortedNames(wanted) {
			if _, found := members[name]; !found {
				continue
			}
			if names, ok := wanted[name].([]any); ok {
				if err := checkRequired(names, members); err != nil {
					return err
				}
				continue
			}
			inner, err := r.check(wanted[name], members)
			if err != nil {
				return err
			}
			looked.add(inner)
		}
	}
	return nil
}

func (r *schemaRun) checkNames(schema, members map[string]any) error {
	wanted, ok := schema["propertyNames"]
	if !ok {
		return nil
	}
	for _, name := range sortedNames(members) {
		if err := r.within(wanted, name); err != nil {
			return within(invalid("the name does not fit: %v", err), name)
		}
	}
	return nil
}

func (r *schemaRun) checkNamed(schema, members map[string]any, looked *seen) error {
	properties, _ := schema["properties"].(map[string]any)
	byPattern, _ := schema["patternProperties"].(map[string]any)
	additional, hasAdditional := schema["additionalProperties"]
	for _, name := range sortedNames(members) {
		wanted, err := namedSchemas(properties, byPattern, name)
		if err != nil {
			return err
		}
		if len(wanted) == 0 && hasAdditional {
			if isAllowed, ok := additional.(bool); ok && !isAllowed {
				return within(invalid("is not known here"), name)
			}
			wanted = []any{additional}
		}
		for _, each := range wanted {
			if err := r.within(each, members[name]); err != nil {
				return within(err, name)
			}
			looked.name(name)
		}
	}
	return nil
}

func namedSchemas(properties, byPattern map[string]any, name string) ([]any, error) {
	var found []any
	if each, ok := properties[name]; ok {
		found = append(found, each)
	}
	for _, text := range sortedNames(byPattern) {
		pattern, err := patternOf(text)
		if err != nil {
			return nil, invalid("%v", err)
		}
		if pattern.matches(name) {
			found = append(found, byPattern[text])
		}
	}
	return found, nil
}

func (r *schemaRun) checkCombinations(schema map[string]any, value any, looked *seen) error {
	if err := r.checkAllOf(schema, value, looked); err != nil {
		return err
	}
	if choices, ok := schema["anyOf"].([]any); ok {
		if count, problems := r.fitting(choices, value, looked); count == 0 {
			return r.noChoice(choices, problems, value)
		}
	}
	if choices, ok := schema["oneOf"].([]any); ok {
		switch count, problems := r.fitting(choices, value, looked); {
		case count == 0:
			return r.noChoice(choices, problems, value)
		case count > 1:
			return invalid("must fit one of %d choices; it fits %d", len(choices), count)
		}
	}
	if refused, ok := schema["not"]; ok {
		if _, err := r.check(refused, value); err == nil {
			return invalid("is what it must not be")
		}
	}
	return r.checkCondition(schema, value, looked)
}

func (r *schemaRun) checkAllOf(schema map[string]any, value any, looked *seen) error {
	parts, _ := schema["allOf"].([]any)
	for _, part := range parts {
		inner, err := r.check(part, value)
		if err != nil {
			return err
		}
		looked.add(inner)
	}
	return nil
}

// fitting counts the schemas that a value fits, and gives the problems of the others by their place. Both anyOf and oneOf go
// through all of them, because all that fit have looked.
func (r *schemaRun) fitting(choices []any, value any, looked *seen) (int, map[int]error) {
	count, problems := 0, map[int]error{}
	for place, choice := range choices {
		inner, err := r.check(choice, value)
		if err != nil {
			problems[place] = err
			continue
		}
		count++
		looked.add(inner)
	}
	return count, problems
}

func (r *schemaRun) checkCondition(schema map[string]any, value any, looked *seen) error {
	condition, ok := schema["if"]
	if !ok {
		return nil
	}
	branch := "else"
	if inner, err := r.check(condition, value); err == nil {
		looked.add(inner)
		branch = "then"
	}
	wanted, ok := schema[branch]
	if !ok {
		return nil
	}
	inner, err := r.check(wanted, value)
	if err == nil {
		looked.add(inner)
	}
	return err
}

func (r *schemaRun) checkUnevaluated(schema map[string]any, value any, looked *seen) error {
	switch value := value.(type) {
	case map[string]any:
		wanted, ok := schema["unevaluatedProperties"]
		for _, name := range sortedNames(value) {
			if !ok || looked.names[name] {
				continue
			}
			if err := r.within(wanted, value[name]); err != nil {
				return within(invalid("is not known here"), name)
			}
			looked.name(name)
		}
	case []any:
		wanted, ok := schema["unevaluatedItems"]
		for place, item := range value {
			if !ok || looked.items[place] {
				continue
			}
			if err := r.within(wanted, item); err != nil {
				return within(invalid("is not allowed here"), strconv.Itoa(place))
			}
			looked.item(place)
		}
	}
	return nil
}
