package compare

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/itest"
)

// program is the Java program that reads and writes with Kafka's classes.
func program() string { return filepath.Join(itest.Root(), "itest", "kafka", "MetadataBytes.java") }

// Bytes has both sides read each record, whoever wrote it, and write it again at its
// version: each must write what was there.
func Bytes(t testing.TB, records []Record) {
	t.Helper()
	var asked strings.Builder
	for _, r := range records {
		kind := "metadata"
		if r.Control >= 0 {
			kind = fmt.Sprint(r.Control)
		}
		fmt.Fprintf(&asked, "%s %x\n", kind, r.Value)
	}
	out, err := itest.JavaInput(t, asked.String(), program(), "records")
	if err != nil {
		t.Fatalf("Kafka's classes do not read the records: %v\n%.4000s", err, out)
	}
	theirs := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(theirs) != len(records) {
		t.Fatalf("Kafka's classes wrote %d records of %d: %.4000s", len(theirs), len(records), out)
	}
	for i, r := range records {
		if want := hex.EncodeToString(r.Value); theirs[i] != want {
			t.Errorf("offset %d, control %d: Kafka writes %s for %s", r.Offset, r.Control, theirs[i], want)
		}
		ours, err := rewrite(r)
		if err != nil || !bytes.Equal(ours, r.Value) {
			t.Errorf("offset %d, control %d: we write %x for %x (%v)", r.Offset, r.Control, ours, r.Value, err)
		}
	}
}

// rewrite reads a record with our codecs and writes it at the version it had.
func rewrite(r Record) ([]byte, error) {
	if r.Control >= 0 {
		m, version, err := metarec.ReadControlValue(r.Control, r.Value)
		if err != nil {
			return nil, err
		}
		return metarec.AppendControlValue(nil, m, version)
	}
	m, version, err := metarec.ReadMetadata(r.Value)
	if err != nil {
		return nil, err
	}
	return metarec.AppendMetadata(nil, m, version)
}
