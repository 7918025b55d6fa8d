package support

import (
	"net/url"
	"strconv"
	"strings"
)

// What a schema refers to: places within it, schemas with an id of their own (resources), and names (anchors). A reference that
// leads out of the document is never followed, and takes anything.

// schemaPlace is a schema, with the id of the resource that it stands in. An id of its own is not yet part of that.
type schemaPlace struct {
	schema any
	base   string
}

// index finds the resources and the anchors of a schema, and whether it asks what others have looked at.
func (d *schemaDocument) index(schema any, base string) {
	members, ok := schema.(map[string]any)
	if !ok {
		return
	}
	place := schemaPlace{schema, base}
	base = d.baseWithin(members, base)
	if base != place.base {
		d.resources[base] = place
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := members[keyword].(string); ok {
			d.anchors[base+"#"+name] = place
			if keyword == "$dynamicAnchor" {
				d.dynamic[base+"#"+name] = place
			}
		}
	}
	if _, name, ok := strings.Cut(d.idOf(members), "#"); ok && name != "" {
		d.anchors[base+"#"+name] = place
	}
	for _, keyword := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		_, found := members[keyword]
		d.tracks = d.tracks || found
	}
	for _, inner := range subschemas(members) {
		d.index(inner, base)
	}
}

// idOf gives the id of a schema, which old drafts write otherwise; empty where it has none. What is after a # is an anchor.
func (d *schemaDocument) idOf(schema map[string]any) string {
	keyword := "$id"
	if d.hasPlainIDs {
		keyword = "id"
	}
	id, _ := schema[keyword].(string)
	return id
}

// baseWithin gives the id of the resource that the parts of a schema stand in.
func (d *schemaDocument) baseWithin(schema map[string]any, base string) string {
	id, _, _ := strings.Cut(d.idOf(schema), "#")
	return resolved(base, id)
}

// enter notes that the check goes into a schema, and gives what notes that it has left it.
func (r *schemaRun) enter(schema map[string]any) func() {
	outer, depth := r.base, len(r.scopes)
	r.base = r.document.baseWithin(schema, outer)
	if depth == 0 || r.scopes[depth-1] != r.base {
		r.scopes = append(r.scopes, r.base)
	}
	return func() { r.base, r.scopes = outer, r.scopes[:depth] }
}

// outermost gives what a dynamic reference means that leads to a dynamic anchor: the anchor of that name in the outermost resource
// that the check came through.
func (r *schemaRun) outermost(reference string, found schemaPlace) schemaPlace {
	address, name, _ := strings.Cut(reference, "#")
	if _, isDynamic := r.document.dynamic[resolved(r.base, address)+"#"+name]; !isDynamic {
		return found
	}
	for _, scope := range r.scopes {
		if outer, ok := r.document.dynamic[scope+"#"+name]; ok {
			return outer
		}
	}
	return found
}

// resolved gives an address as it is seen from another one.
func resolved(base, address string) string {
	if address == "" {
		return base
	}
	from, err := url.Parse(base)
	if err != nil {
		return address
	}
	made, err := from.Parse(address)
	if err != nil {
		return address
	}
	return made.String()
}

// target gives what a reference in a resource means.
func (d *schemaDocument) target(reference, base string) (schemaPlace, error) {
	address, fragment, _ := strings.Cut(reference, "#")
	id := resolved(base, address)
	if plain, err := url.PathUnescape(fragment); err == nil && !strings.HasPrefix(fragment, "/") {
		fragment = plain
	}
	start, found := d.resources[id]
	switch named, isAnchor := d.anchors[id+"#"+fragment]; {
	case !found && !isAnchor:
		return schemaPlace{schema: true, base: base}, nil
	case isAnchor:
		return named, nil
	case fragment == "":
		return start, nil
	case !strings.HasPrefix(fragment, "/"):
		return start, invalid("the schema refers to %q, which is not in it", reference)
	}
	return d.walked(start, fragment, reference)
}

// walked follows a JSON pointer. Schemas on the way may have ids.
func (d *schemaDocument) walked(at schemaPlace, pointer, reference string) (schemaPlace, error) {
	for _, part := range strings.Split(pointer[1:], "/") {
		if plain, err := url.PathUnescape(part); err == nil {
			part = plain
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		found := false
		switch outer := at.schema.(type) {
		case map[string]any:
			at.base = d.baseWithin(outer, at.base)
			at.schema, found = outer[part]
		case []any:
			place, err := strconv.Atoi(part)
			if found = err == nil && place >= 0 && place < len(outer); found {
				at.schema = outer[place]
			}
		}
		if !found {
			return at, invalid("the schema refers to %q, which is not in it", reference)
		}
	}
	return at, nil
}
