package main

// emitTypes writes the functions that make an empty message from its number
// or its name.
func emitTypes(families []*family) ([]byte, error) {
	e := &emitter{}
	e.p(generatedBy, "*.rec")
	e.p("\npackage metarec\n")
	for _, fam := range families {
		for _, r := range []role{roleRecord, roleControl, roleKey, roleValue} {
			e.byType(fam, r)
		}
	}
	e.p("// ByName returns a new message with Kafka's defaults, nil if the name is unknown.")
	e.p("func ByName(name string) Message {\nswitch name {")
	for _, fam := range families {
		for _, m := range fam.messages {
			e.p("case %q:\nreturn New%s()", m.name, m.name)
		}
	}
	e.p("}\nreturn nil\n}")
	return e.source()
}

// byType writes the switch over the numbers of one role in a family.
func (e *emitter) byType(fam *family, r role) {
	var list []*message
	for _, m := range fam.messages {
		if m.role == r {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return
	}
	name := "new" + exported(fam.name) + exported(string(r))
	if exported(fam.name) == exported(string(r)) {
		name = "new" + exported(fam.name)
	}
	e.p("// %s returns a new message by its number, nil if the number is unknown.", name)
	e.p("func %s(number int16) Message {\nswitch number {", name)
	for _, m := range list {
		e.p("case %d:\nreturn New%s()", m.typ, m.name)
	}
	e.p("}\nreturn nil\n}\n")
}
