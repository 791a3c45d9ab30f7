package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/dumplog"
)

// dumpLogFlags are the flags of dump-log, most of them with the names that
// Kafka's kafka-dump-log gives them.
type dumpLogFlags struct {
	opt   dumplog.Options
	files []string
	// decoders are switches of which one may be set, in the order of
	// dumpLogDecoders.
	decoders [len(dumpLogDecoders)]bool
}

var dumpLogDecoders = [...]struct {
	flag, help string
	decoder    dumplog.Decoder
}{
	{"cluster-metadata-decoder", "decode records as those of __cluster_metadata", dumplog.DecodeMetadata},
	{"offsets-decoder", "decode records as those of __consumer_offsets", dumplog.DecodeOffsets},
	{"transaction-log-decoder", "decode records as those of __transaction_state", dumplog.DecodeTransactions},
	{"share-group-state-decoder", "decode records as those of __share_group_state", dumplog.DecodeShareState},
	{"remote-log-metadata-decoder", "decode records as those of __remote_log_metadata", dumplog.DecodeRemoteLog},
}

// newDumpLogCmd is "ottla dump-log": what lies in the files of a node.
func newDumpLogCmd() *cobra.Command {
	f := &dumpLogFlags{}
	cmd := &cobra.Command{
		Use:   "dump-log FILE...",
		Short: "Print segments, indexes, snapshots and checkpoints of a data folder",
		Long: `Print what lies in the files of a data folder, a line for each thing found:
segments (.log), metadata snapshots (.checkpoint), indexes (.index, .timeindex, .txnindex),
producer snapshots (.snapshot), checkpoints (recovery-point-offset-checkpoint and its kin,
leader-epoch-checkpoint), partition.metadata, meta.properties, quorum-state.

Records of Kafka's own topics are decoded by the name of the folder, or by a flag.
The exit status is 1 if a file cannot be read or something in it is wrong.`,
		Example: `  ottla dump-log --print-data-log /var/lib/ottla/orders-0/00000000000000000000.log
  ottla dump-log --json /var/lib/ottla/__cluster_metadata-0/*.log | jq .value.type`,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.opt.JSON, "json", false, "print one JSON object a line")
	flags.BoolVar(&f.opt.Data, "print-data-log", false, "print keys and values of records")
	flags.BoolVar(&f.opt.Deep, "deep-iteration", false, "print the records of each batch")
	flags.BoolVar(&f.opt.SkipRecordMetadata, "skip-record-metadata", false, "print of records their keys and values only")
	flags.BoolVar(&f.opt.VerifyOnly, "verify-index-only", false, "compare indexes with their segments and print what is wrong only")
	flags.BoolVar(&f.opt.SanityCheck, "index-sanity-check", false, "check that indexes can be such, without their segments")
	flags.Int64Var(&f.opt.MaxBytes, "max-bytes", 0, "stop a segment after the batch that reaches this many bytes")
	flags.StringSliceVar(&f.files, "files", nil, "files to print, separated by commas; the same as arguments")
	for i, d := range dumpLogDecoders {
		flags.BoolVar(&f.decoders[i], d.flag, false, d.help)
	}
	return cmd
}

func (f *dumpLogFlags) run(out, errOut io.Writer, args []string) error {
	files := append(f.files, args...)
	if len(files) == 0 {
		return fmt.Errorf("no files given; see ottla dump-log --help")
	}
	for i, set := range f.decoders {
		if !set {
			continue
		}
		if f.opt.Decoder != dumplog.DecodeByFolder {
			return fmt.Errorf("more than one decoder given")
		}
		f.opt.Decoder = dumpLogDecoders[i].decoder
	}
	faulty := 0
	for _, file := range files {
		problems, err := dumplog.Dump(out, vfs.OS{}, file, f.opt)
		for _, p := range problems {
			fmt.Fprintln(errOut, p)
		}
		if err != nil {
			fmt.Fprintln(errOut, err)
		}
		if err != nil || len(problems) > 0 {
			faulty++
		}
	}
	if faulty > 0 {
		return fmt.Errorf("%d of %d files could not be read in full", faulty, len(files))
	}
	return nil
}
