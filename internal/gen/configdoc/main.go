// Command configdoc writes docs/reference/configuration.md from the tables of
// package config:
//
//	go run ./internal/gen/configdoc docs/reference/configuration.md
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ottla/ottla/internal/base/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: configdoc FILE")
		os.Exit(1)
	}
	if err := os.WriteFile(os.Args[1], []byte(page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const intro = `# Configuration

<!-- Written by internal/gen/configdoc from the tables of internal/base/config. Do not edit. -->

A node is configured with a Java properties file, as Apache Kafka 4.4 is, and with ` + "`--override key=value`" + `. Every key of
Kafka 4.4 is known. The column "use" tells what this release does about it:

- **used**: it has its full effect.
- **no effect**: it is taken, with a warning at the start or when the change arrives.
- **refused**: any value but the default ends the start, and is refused while the node runs, because without it the node
  would be less secure or less durable than the setting says. ` + "`--ignore-unsupported KEY`" + ` starts the node all the
  same. A value that is stored in the cluster already, for example by Kafka, is left aside with a warning.

"Changes" tells how a key is changed: in the file and by a restart, or while the node runs with ` + "`ottla configs --alter`" + `,
for one broker or for all. Keys that are marked with (l) may stand under ` + "`listener.name.<listener>.`" + `;
of those that are not refused, only ` + "`max.connections`" + ` and ` + "`max.connection.creation.rate`" + ` have an effect there. A key that is static here and not in Kafka cannot be
changed while the node runs: the change is refused.

`

// page is the whole page.
func page() string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("## Keys of a node\n\n")
	rows(&b, config.Keys(), true)
	b.WriteString("\n## Keys of a topic\n\nThey are set when a topic is created, or with `ottla configs --alter --topic`. The broker's key of the same meaning gives the\ndefault.\n\n")
	rows(&b, config.TopicKeys(), false)
	return b.String()
}

func rows(b *strings.Builder, keys []config.Key, scope bool) {
	if scope {
		b.WriteString("| Key | Type | Default | Allowed | Changes | Use | Meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	} else {
		b.WriteString("| Key | Type | Default | Allowed | Use | Meaning |\n| --- | --- | --- | --- | --- | --- |\n")
	}
	for _, k := range keys {
		if k.Has(config.Internal) {
			continue
		}
		name := "`" + k.Name + "`"
		if k.Has(config.ByListener) {
			name += " (l)"
		}
		cells := []string{name, strings.ToLower(k.Type.String()), byDefault(k), k.Allowed()}
		if scope {
			cells = append(cells, changes(k))
		}
		cells = append(cells, strings.TrimPrefix(k.Use.String(), "accepted, "), k.Doc)
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
}

// changes tells how a key is changed.
func changes(k config.Key) string {
	if k.Has(config.AtStart) {
		return config.Static.String() + " (in Kafka " + k.Scope.String() + ")"
	}
	return k.Scope.String()
}

func byDefault(k config.Key) string {
	switch k.Default {
	case config.Required:
		return "must be set"
	case config.Null:
		return "not set"
	case "":
		return "empty"
	}
	return "`" + k.Default + "`"
}
