package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/core/image"
)

// kafkaRelease is the release of Apache Kafka whose protocol, files and
// settings this program has.
const kafkaRelease = "4.4"

// version is set by the build of a release; a build from source tells its
// commit.
var version = ""

// newVersionCmd is "ottla version".
func newVersionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the release of Kafka it speaks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{
					"version": buildVersion(), "kafka": kafkaRelease,
					"metadataVersion": image.LatestLevel.String(), "metadataVersionLevel": image.LatestLevel, "go": runtime.Version(),
				})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "ottla %s\nKafka %s, metadata.version %s (level %d)\n",
				buildVersion(), kafkaRelease, image.LatestLevel, image.LatestLevel)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// buildVersion is the version of this build.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", with changes"
		}
	}
	if revision == "" {
		return "from source"
	}
	return "from source at " + revision + dirty
}
