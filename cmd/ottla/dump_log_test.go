package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/metarec"
)

// runDumpLog runs dump-log with arguments and returns what it printed.
func runDumpLog(args ...string) (out, errOut string, err error) {
	cmd := newDumpLogCmd()
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	cmd.SilenceErrors = true
	err = cmd.Execute()
	return stdout.String(), stderr.String(), err
}

// One bad file is told with its place; the others are still printed, and the
// command fails.
func TestDumpLogTellsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("leader-epoch-checkpoint", "0\n1\n3 17\n")
	bad := write("recovery-point-offset-checkpoint", "0\n2\nt 0 5\n")

	out, errOut, err := runDumpLog(bad, filepath.Join(dir, "00000000000000000000.log"), good)
	if err == nil || err.Error() != "2 of 3 files could not be read in full" {
		t.Errorf("error is %v", err)
	}
	if !strings.Contains(out, "leaderEpoch: 3 startOffset: 17\n") {
		t.Errorf("printed\n%s", out)
	}
	if !strings.Contains(errOut, bad+": position 10: file has 1 entries and says 2\n") || !strings.Contains(errOut, "no such file") {
		t.Errorf("told\n%s", errOut)
	}

	out, errOut, err = runDumpLog("--json", "--files", good)
	if want := `{"file":"` + good + `","kind":"epochCheckpointEntry","leaderEpoch":3,"startOffset":17}` + "\n"; out != want || errOut != "" || err != nil {
		t.Errorf("printed %s%s%v", out, errOut, err)
	}
}

// The small files beside the logs are known too.
func TestDumpLogKnowsTheFilesBeside(t *testing.T) {
	dir := t.TempDir()
	var mark [metarec.DurableMarkSize]byte
	metarec.PutDurableMark(&mark, metarec.DurableMark{Below: 1204, Epoch: 7})
	for name, content := range map[string]string{".lock": "", ".ottla-boot": "boot-7", ".ottla-votes-lost": "", ".ottla-durable": string(mark[:])} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, errOut, err := runDumpLog(filepath.Join(dir, ".lock"), filepath.Join(dir, ".ottla-boot"), filepath.Join(dir, ".ottla-durable"), filepath.Join(dir, ".ottla-votes-lost"))
	if err != nil || errOut != "" || !strings.Contains(out, "lock: held by a node while it runs; it has no content\n") || !strings.Contains(out, "boot: boot-7\n") || !strings.Contains(out, "durable: 1204\n") || !strings.Contains(out, "durable.epoch: 7\n") || !strings.Contains(out, "votes.lost: ") {
		t.Errorf("%s%s%v", out, errOut, err)
	}
}

func TestDumpLogRefusals(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if _, _, err := runDumpLog(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	f("no files given")
	f("more than one decoder", "--offsets-decoder", "--cluster-metadata-decoder", "x.log")
	f("unknown flag", "--no-such-flag")
}
