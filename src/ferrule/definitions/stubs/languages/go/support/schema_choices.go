package support

// What to say of a value that none of several schemas takes: the problem of the one that was most likely meant.

// noChoice gives the problem of a value that fits none of the choices, each of which has a problem with it.
func (r *schemaRun) noChoice(choices []any, problems map[int]error, value any) error {
	likely := r.ofItsKind(choices, value)
	if len(likely) == 1 {
		return problems[likely[0]]
	}
	if members, ok := value.(map[string]any); ok {
		if err := r.byTag(choices, likely, problems, members); err != nil {
			return err
		}
	}
	return invalid("must fit one of %d choices; it fits none", len(choices))
}

// ofItsKind gives the places of the choices that may take values of the value's type, and of all where there is none.
func (r *schemaRun) ofItsKind(choices []any, value any) []int {
	var all, likely []int
	for place, choice := range choices {
		all = append(all, place)
		if r.document.mayTake(schemaPlace{choice, r.base}, value) {
			likely = append(likely, place)
		}
	}
	if len(likely) == 0 {
		return all
	}
	return likely
}

// mayTake says whether a schema names the type of a value, or values of that type, or says nothing of it.
func (d *schemaDocument) mayTake(schema schemaPlace, value any) bool {
	if kinds, found := d.listed(schema, "type"); found {
		for _, kind := range kinds {
			if kind == typeName(value) || kind == "integer" && typeName(value) == "number" {
				return true
			}
		}
		return false
	}
	values := d.valuesOf(schema)
	for _, each := range values {
		if typeName(each) == typeName(value) {
			return true
		}
	}
	return len(values) == 0 && schema.schema != false
}

// mostSteps bounds references that lead to references.
const mostSteps = 20

// said gives what a schema, or what it refers to, has for a keyword, and where that stands.
func (d *schemaDocument) said(at schemaPlace, keyword string) (schemaPlace, bool) {
	for steps := 0; steps < mostSteps; steps++ {
		members, _ := at.schema.(map[string]any)
		base := d.baseWithin(members, at.base)
		if found, ok := members[keyword]; ok {
			return schemaPlace{found, base}, true
		}
		reference, ok := members["$ref"].(string)
		if !ok {
			break
		}
		next, err := d.target(reference, base)
		if err != nil {
			break
		}
		at = next
	}
	return at, false
}

// listed gives the list that a schema has for a keyword. One value is a list of one.
func (d *schemaDocument) listed(at schemaPlace, keyword string) ([]any, bool) {
	found, ok := d.said(at, keyword)
	if !ok {
		return nil, false
	}
	if list, isList := found.schema.([]any); isList {
		return list, true
	}
	return []any{found.schema}, true
}

// valuesOf gives the values that a schema allows, where it lists them.
func (d *schemaDocument) valuesOf(at schemaPlace) []any {
	if constant, ok := d.said(at, "const"); ok {
		return []any{constant.schema}
	}
	values, _ := d.listed(at, "enum")
	return values
}

// byTag looks for a member that tells the choices apart, because each of them says which values it may have. It gives the problem
// of the choice that is meant, or that the member is none of the values; and nil where no member tells.
func (r *schemaRun) byTag(choices []any, likely []int, problems map[int]error, members map[string]any) error {
	var wrong error
	for _, name := range sortedNames(members) {
		allowed, fitting, isTag := r.tagged(choices, likely, name, members[name])
		switch {
		case !isTag:
			continue
		case len(fitting) == 1:
			return problems[fitting[0]]
		case len(fitting) == 0 && wrong == nil:
			wrong = within(invalid("must be one of %s", shownChoices(allowed)), name)
		}
	}
	return wrong
}

// tagged gives the values that choices allow for a member, and the choices that allow the one it has. It is no tag where one of the
// choices says nothing of it.
func (r *schemaRun) tagged(choices []any, likely []int, name string, value any) (allowed []any, fitting []int, isTag bool) {
	for _, place := range likely {
		tags := r.tagsOf(choices[place], name)
		if len(tags) == 0 {
			return nil, nil, false
		}
		if isAmong(value, tags) {
			fitting = append(fitting, place)
		}
		for _, tag := range tags {
			if !isAmong(tag, allowed) {
				allowed = append(allowed, tag)
			}
		}
	}
	return allowed, fitting, true
}

// tagsOf gives the values that a schema allows for a member, where it lists them.
func (r *schemaRun) tagsOf(schema any, name string) []any {
	properties, _ := r.document.said(schemaPlace{schema, r.base}, "properties")
	declared, _ := properties.schema.(map[string]any)
	return r.document.valuesOf(schemaPlace{declared[name], properties.base})
}
