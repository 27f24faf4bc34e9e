package schema

import (
	"slices"
	"strings"
)

// keywordUse says what a keyword does to the wire format.
type keywordUse uint8

const (
	useUnknown    keywordUse = iota
	useShape                 // decides the type: read by peel
	useAnnotation            // read by people; not compared
	useConstraint            // narrows the values: compared, changes no byte
	useForeign               // changes the meaning in a way that has no binary form
)

var keywords = map[string]keywordUse{
	"type": useShape, "const": useShape, "enum": useShape, "anyOf": useShape, "oneOf": useShape,
	"allOf": useShape, "$ref": useShape, "properties": useShape, "required": useShape,
	"additionalProperties": useShape, "patternProperties": useShape, "items": useShape,
	"prefixItems": useShape, "additionalItems": useShape, "nullable": useShape, "bigint": useShape,
	"x-nova": useShape, "contentEncoding": useShape,

	"$defs": useAnnotation, "definitions": useAnnotation, "$id": useAnnotation, "$schema": useAnnotation,
	"title": useAnnotation, "description": useAnnotation, "default": useAnnotation,
	"examples": useAnnotation, "example": useAnnotation, "deprecated": useAnnotation,
	"readOnly": useAnnotation, "writeOnly": useAnnotation, "$comment": useAnnotation,
	"$anchor": useAnnotation, "discriminator": useAnnotation, "externalDocs": useAnnotation,
	"contentMediaType": useAnnotation, "contentSchema": useAnnotation,

	"format": useConstraint, "minLength": useConstraint, "maxLength": useConstraint,
	"pattern": useConstraint, "minimum": useConstraint, "maximum": useConstraint,
	"exclusiveMinimum": useConstraint, "exclusiveMaximum": useConstraint, "multipleOf": useConstraint,
	"minItems": useConstraint, "maxItems": useConstraint, "uniqueItems": useConstraint,
	"contains": useConstraint, "minContains": useConstraint, "maxContains": useConstraint,
	"minProperties": useConstraint, "maxProperties": useConstraint, "propertyNames": useConstraint,
	"minByteLength": useConstraint, "maxByteLength": useConstraint, "dependentRequired": useConstraint,

	"if": useForeign, "then": useForeign, "else": useForeign, "not": useForeign,
	"dependentSchemas": useForeign, "dependencies": useForeign, "unevaluatedProperties": useForeign,
	"unevaluatedItems": useForeign, "$dynamicRef": useForeign, "$dynamicAnchor": useForeign,
	"$recursiveRef": useForeign, "$recursiveAnchor": useForeign, "$vocabulary": useForeign,
}

// meaningful are the keywords whose misspelling changes the schema.
var meaningful = meaningfulKeywords()

func meaningfulKeywords() []string {
	var names []string
	for name, use := range keywords {
		if use == useShape || use == useConstraint {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// typeAdvice says what to write instead of a "type" that has no binary form.
// The words are JSON Schema's, both TypeBox lines', and common slips.
var typeAdvice = map[string]string{
	"any": adviceAny, "unknown": adviceAny,
	"null":      `give the field a type and make it nullable: {"anyOf":[{"type":"string"},{"type":"null"}]}`,
	"undefined": "leave the property out of \"required\" instead, or remove it",
	"void":      "leave the response out, or write an object with \"properties\": {}",
	"never":     "remove the property",
	"Date":      `write {"type":"integer"} holding milliseconds since 1970, or {"type":"string","format":"date-time"}`,
	"date":      `write {"type":"integer"} holding milliseconds since 1970, or {"type":"string","format":"date-time"}`,
	"RegExp":    `write {"type":"string"} holding the pattern`,
	"symbol":    `write {"type":"string"}`,
	"function":  adviceData, "Function": adviceData, "constructor": adviceData, "Constructor": adviceData,
	"promise": adviceData, "Promise": adviceData, "iterator": adviceArray, "Iterator": adviceArray,
	"asyncIterator": adviceArray, "AsyncIterator": adviceArray,
	"rest": "write an array field", "deferred": adviceGeneric, "generic": adviceGeneric,
	"call": adviceGeneric, "infer": adviceGeneric,
	"int": `write "integer"`, "long": `write "integer"`, "float": `write "number"`, "double": `write "number"`,
	"bool": `write "boolean"`, "str": `write "string"`, "list": `write "array"`, "map": `write "object"`,
	"uint8array": `write "Uint8Array"`, "bytes": `write "Uint8Array"`, "buffer": `write "Uint8Array"`,
}

const (
	adviceAny     = `write a typed object, or {"type":"string"} holding JSON text`
	adviceData    = "events carry data only: write the type of the value that is sent"
	adviceArray   = `write {"type":"array","items":…}`
	adviceGeneric = "apply the generic before exporting the schema, so that a plain type remains"
)

// knownTypes are the values of "type" that have a binary form, and "null".
var knownTypes = []string{"string", "number", "integer", "bigint", "boolean", "object", "array", "null", "Uint8Array"}

// foreignAdvice says what to write instead of a keyword that has no binary form.
func foreignAdvice(key string) string {
	switch key {
	case "if", "then", "else", "dependentSchemas", "dependencies":
		return "make the fields that depend on others optional"
	case "not":
		return "name the values that are allowed"
	case "unevaluatedProperties", "unevaluatedItems":
		return "write \"additionalProperties\": false on the object"
	case "$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor":
		return "write \"$ref\": \"#/$defs/NAME\""
	}
	return "remove it"
}

// nearest returns the candidate that a typo of word most likely meant, or "".
func nearest(word string, candidates []string) string {
	best, most := "", 2
	if len(word) <= 4 {
		most = 1
	}
	if len(word) < 2 || len(word) > maxWord {
		return ""
	}
	word = strings.ToLower(word)
	for _, c := range candidates {
		if len(c)-len(word) > most || len(word)-len(c) > most || len(c) > maxWord {
			continue
		}
		if d := distance(word, strings.ToLower(c)); d < most || d == most && (best == "" || c < best) {
			best, most = c, d
		}
	}
	return best
}

// didYouMean ends an error about an unknown word of a short list.
func didYouMean(word string, candidates []string) string {
	if n := nearest(word, candidates); n != "" {
		return "did you mean " + quote(n) + "?"
	}
	return "known are " + strings.Join(candidates, ", ")
}

// maxSuggestions bounds how many names of the schema are compared: a hostile
// one has many, and many typos.
const maxSuggestions = 100_000

// suggest is nearest for names of the schema.
func (d *document) suggest(word string, names []string, otherwise string) string {
	if d.suggestions += len(names); d.suggestions <= maxSuggestions {
		if n := nearest(word, names); n != "" {
			return "did you mean " + quote(n) + "?"
		}
	}
	return otherwise
}

const maxWord = 64 // bytes; longer words get no suggestion

// distance counts the edits between two words of at most maxWord bytes:
// insertions, deletions, replacements and swaps of neighbours.
func distance(a, b string) int {
	var rows [3][maxWord + 1]int // of i-2, i-1 and i
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
