package dumplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// disk is a memory disk with the given files in their folders.
func disk(t testing.TB, files map[string][]byte) vfs.FS {
	t.Helper()
	mem := vfs.NewMem()
	for path, b := range files {
		dir, _, _ := strings.Cut(path, "/")
		if err := mem.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := mem.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.Write(b)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

// shown dumps one file of a disk and returns its text and the problems, each
// as "position: what".
func shown(t testing.TB, fs vfs.FS, path string, opt Options) (text string, problems []string) {
	t.Helper()
	var out bytes.Buffer
	list, err := Dump(&out, fs, path, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.File != path {
			t.Errorf("problem of the file %s", p.File)
		}
		problems = append(problems, fmt.Sprintf("%d: %v", p.Position, p.Err))
	}
	return out.String(), problems
}

// wantProblems compares problems with what each has to begin with or contain.
func wantProblems(t testing.TB, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("problems are %q, want %d", got, len(want))
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("problem is %q, want %q", got[i], want[i])
		}
	}
}

// twoBatches are records at offsets 10 and 11, and at 12.
func twoBatches() (first, both []byte) {
	b := batch.NewBuilder(batch.Options{BaseOffset: 10, LeaderEpoch: 3})
	b.Add(1000, []byte("k"), []byte("v"))
	b.Add(1001, []byte{0xff, 0}, nil, batch.HeaderKV{Key: "h", Value: []byte("x")})
	first = b.Build(nil)
	b.Reset(batch.Options{BaseOffset: 12, LeaderEpoch: 3})
	b.Add(2000, nil, []byte("line\nbreak"))
	return first, b.Build(bytes.Clone(first))
}

const log10 = "t-0/00000000000000000010.log"

// A segment that ends early, anywhere, is shown up to there; the problem names
// the place where the first batch is missing that should be there.
func TestSegmentCutAnywhere(t *testing.T) {
	first, both := twoBatches()
	for end := range both {
		text, problems := shown(t, disk(t, map[string][]byte{log10: both[:end]}), log10, Options{Data: true})
		whole := strings.Count(text, "baseOffset")
		switch rest := both[whole*len(first) : end]; {
		case isZero(rest): // the end of a batch, or of a file allocated in advance
			wantProblems(t, problems)
		case end < len(first):
			wantProblems(t, problems, "0: no whole batch")
		default:
			wantProblems(t, problems, fmt.Sprintf("%d: no whole batch", len(first)))
		}
		if want := min(end/len(first), 1); whole != want {
			t.Errorf("cut at %d: %d batches shown", end, whole)
		}
	}
}

// No flipped bit passes unnoticed, except those of the two fields that the
// checksum leaves out and that still make sense.
func TestSegmentWithAFlippedBit(t *testing.T) {
	_, both := twoBatches()
	for i := range both {
		bad := bytes.Clone(both)
		bad[i] ^= 0x40
		_, problems := shown(t, disk(t, map[string][]byte{log10: bad}), log10, Options{Data: true})
		inFirst := i < 8 || i >= 12 && i < 16
		if len(problems) == 0 && !inFirst && !uncovered(i, both) {
			t.Errorf("byte %d flipped: nothing told", i)
		}
	}
}

// uncovered tells bytes of the second batch that no checksum covers: the base
// offset and the leader epoch.
func uncovered(i int, both []byte) bool {
	h, err := batch.ParseHeader(both)
	if err != nil {
		return false
	}
	i -= h.Size()
	return i >= 0 && (i < 8 || i >= 12 && i < 16)
}

func TestSegmentProblems(t *testing.T) {
	first, both := twoBatches()
	f := func(b []byte, opt Options, want ...string) string {
		t.Helper()
		text, problems := shown(t, disk(t, map[string][]byte{log10: b}), log10, opt)
		wantProblems(t, problems, want...)
		return text
	}
	bad := bytes.Clone(both)
	bad[len(first)-1] ^= 1
	text := f(bad, Options{Data: true}, "0: checksum of the batch at offset 10 is wrong")
	if !strings.Contains(text, "isvalid: false") || strings.Contains(text, "| offset: 10") || !strings.Contains(text, "| offset: 12") {
		t.Errorf("a wrong checksum hides its own records only:\n%s", text)
	}

	f(append(bytes.Clone(both), first...), Options{}, fmt.Sprintf("%d: batch at offset 10 follows offset 12", len(both)))

	text = f(append(bytes.Clone(first), make([]byte, 1000)...), Options{})
	if want := fmt.Sprintf("position: %d preallocated, not written: 1000 bytes", len(first)); !strings.Contains(text, want) {
		t.Errorf("zeros at the end:\n%s", text)
	}
	tail := make([]byte, 1000)
	tail[700] = 1
	f(append(bytes.Clone(first), tail...), Options{}, fmt.Sprintf("%d: something follows 700 zero bytes", len(first)+700))

	text = f(both, Options{MaxBytes: 1})
	if strings.Count(text, "baseOffset") != 1 {
		t.Errorf("one batch was asked for:\n%s", text)
	}

	many := []byte{}
	for range 2 * maxProblems {
		many = append(many, first...)
	}
	text, problems := shown(t, disk(t, map[string][]byte{log10: many}), log10, Options{})
	if len(problems) != maxProblems+1 || !strings.Contains(problems[maxProblems], "too many problems") {
		t.Errorf("%d problems: %q\n%s", len(problems), problems, text)
	}
}

func TestRecordsOfUsers(t *testing.T) {
	_, both := twoBatches()
	fs := disk(t, map[string][]byte{log10: both})
	f := func(opt Options, want ...string) {
		t.Helper()
		text, problems := shown(t, fs, log10, opt)
		wantProblems(t, problems)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("want %q in\n%s", w, text)
			}
		}
	}
	f(Options{Deep: true}, "| offset: 10 CreateTime: 1000 keySize: 1 valueSize: 1 sequence: -1 headerKeys: []\n")
	f(Options{Data: true}, "headerKeys: [] key: k payload: v\n", `headerKeys: [h] key: "\xff\x00"`+"\n", `payload: "line\nbreak"`+"\n")
	f(Options{Data: true, SkipRecordMetadata: true}, "\n| key: k payload: v\n")
	f(Options{Data: true, JSON: true},
		`{"file":"`+log10+`","kind":"segment","startOffset":10}`,
		`"key":"k","value":"v"}`,
		`"headers":[{"key":"h","valueBase64":"eA=="}],"value":null,"keyBase64":"/wA="}`,
		`"key":null,"value":"line\nbreak"}`)
}

func TestDecodedRecordProblems(t *testing.T) {
	b := batch.NewBuilder(batch.Options{})
	b.Add(0, []byte{0, 99}, []byte("v"))
	b.Add(0, nil, []byte("v"))
	b.Add(0, []byte{0, 2, 0, 1, 'g'}, nil)
	const path = "__consumer_offsets-3/00000000000000000000.log"
	text, problems := shown(t, disk(t, map[string][]byte{path: b.Build(nil)}), path, Options{})
	wantProblems(t, problems, "0: record at offset 0: group key: unknown record type 99", "0: record at offset 1: key is null")
	if !strings.Contains(text, `key: {"type":"2","data":{"group":"g"}} payload: <DELETE>`) {
		t.Errorf("a tombstone:\n%s", text)
	}

	b.Reset(batch.Options{Control: true})
	b.AddControl(0, 9, []byte{0, 0})
	text, problems = shown(t, disk(t, map[string][]byte{path: b.Build(nil)}), path, Options{})
	wantProblems(t, problems, "control value: unknown record type 9")
	if !strings.Contains(text, "controlType: ") {
		t.Errorf("an unknown control record:\n%s", text)
	}
}

// A flag decides over the name of the folder.
func TestDecoderByFlag(t *testing.T) {
	value, err := metarec.AppendMetadata(nil, &metarec.TopicRecord{Name: "a"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := batch.NewBuilder(batch.Options{})
	b.Add(0, nil, value)
	fs := disk(t, map[string][]byte{log10: b.Build(nil)})
	text, problems := shown(t, fs, log10, Options{Decoder: DecodeMetadata})
	if len(problems) > 0 || !strings.Contains(text, `payload: {"type":"TOPIC_RECORD","version":0,"data":{"name":"a",`) {
		t.Errorf("%q\n%s", problems, text)
	}
}

func entry(numbers ...any) []byte {
	var b []byte
	for _, n := range numbers {
		b, _ = binary.Append(b, binary.BigEndian, n)
	}
	return b
}

func TestOffsetIndexProblems(t *testing.T) {
	first, both := twoBatches()
	second := int32(len(first))
	const path = "t-0/00000000000000000010.index"
	f := func(index []byte, opt Options, want ...string) string {
		t.Helper()
		text, problems := shown(t, disk(t, map[string][]byte{path: index, log10: both}), path, opt)
		wantProblems(t, problems, want...)
		return text
	}
	right := entry(int32(2), second)
	if text := f(right, Options{}); !strings.Contains(text, fmt.Sprintf("offset: 12 position: %d\n", second)) {
		t.Error(text)
	}
	if text := f(append(bytes.Clone(right), make([]byte, 80)...), Options{}); strings.Count(text, "offset:") != 1 {
		t.Error(text)
	}
	if text := f(right, Options{SanityCheck: true}); !strings.HasSuffix(text, path+" passed sanity check.\n") {
		t.Error(text)
	}
	if text := f(right, Options{VerifyOnly: true}); strings.Contains(text, "offset:") {
		t.Error(text)
	}
	f(append(bytes.Clone(right), 1, 2, 3), Options{}, "8: 3 bytes at the end")
	f(entry(int32(2), second, int32(2), second+1), Options{}, "8: entry (offset 12,")
	f(entry(int32(-5), second), Options{}, "0: entry (offset 5,")
	f(entry(int32(1), second), Options{}, "the batch there ends with offset 12")
	f(entry(int32(1), second), Options{SanityCheck: true})
	f(entry(int32(2), second+1), Options{}, "no batch is there")
	f(entry(int32(2), int32(1<<30)), Options{}, "no batch is there")

	_, err := Dump(&bytes.Buffer{}, disk(t, map[string][]byte{path: right}), path, Options{VerifyOnly: true})
	if err == nil || !strings.Contains(err.Error(), "no segment to compare with") {
		t.Error(err)
	}
}

func TestTimeIndexProblems(t *testing.T) {
	_, both := twoBatches()
	const path = "t-0/00000000000000000010.timeindex"
	f := func(index []byte, want ...string) {
		t.Helper()
		_, problems := shown(t, disk(t, map[string][]byte{path: index, log10: both}), path, Options{})
		wantProblems(t, problems, want...)
	}
	f(entry(int64(1001), int32(1), int64(2000), int32(2)))
	f(entry(int64(1001), int32(1), int64(1001), int32(2)), "12: entry (timestamp 1001,")
	f(entry(int64(1000), int32(1)), "the batch of that offset has the timestamp 1001")
	f(entry(int64(2000), int32(7)), "the segment has no such offset")
}

func TestTxnIndexProblems(t *testing.T) {
	const path = "t-0/00000000000000000010.txnindex"
	f := func(index []byte, want ...string) {
		t.Helper()
		_, problems := shown(t, disk(t, map[string][]byte{path: index}), path, Options{})
		wantProblems(t, problems, want...)
	}
	right := metarec.AppendAbortedTxn(nil, metarec.AbortedTxn{ProducerId: 1, FirstOffset: 10, LastOffset: 12, LastStableOffset: 13})
	f(right)
	f(append(bytes.Clone(right), right...), "34: offsets 10 to 12 do not rise from 12")
	f(right[:33], "0: 33 bytes at the end")
	right[0] = 1
	f(right, "0: aborted transaction: ")
}

func TestSmallFileProblems(t *testing.T) {
	f := func(name, content string, want ...string) {
		t.Helper()
		path := "d/" + name
		_, problems := shown(t, disk(t, map[string][]byte{path: []byte(content)}), path, Options{})
		wantProblems(t, problems, want...)
	}
	f("recovery-point-offset-checkpoint", "0\n1\nt 0 5\n")
	f("recovery-point-offset-checkpoint", "")
	f("recovery-point-offset-checkpoint", "1\n0\n", `0: version is "1"`)
	f("recovery-point-offset-checkpoint", "0\nx\n", `2: "x" is not a number`)
	f("recovery-point-offset-checkpoint", "0\n2\nt 0 5\n", "10: file has 1 entries and says 2")
	f("recovery-point-offset-checkpoint", "0\n2\nt 0\nu 0 1\n", `4: "t 0" is not`)
	f("replication-offset-checkpoint", "0\n", "2: file has 0 entries")
	f("leader-epoch-checkpoint", "0\n2\n0 0\n1 7\n")
	f("leader-epoch-checkpoint", "0\n2\n1 7\n1 8\n", "8: epoch 1 at 8 does not rise")
	f("leader-epoch-checkpoint", "0\n1\n1\n", `4: "1" is not`)
	f("partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
	f("partition.metadata", "version: 1\ntopic_id: x", "0: version", "0: topic_id")
	f("partition.metadata", "version: 0\nnonsense", `11: "nonsense" is not`)
	f("meta.properties", "version=1\ncluster.id=x\nnode.id=1\n")
	f("meta.properties", "version=1\n", "cluster.id is missing")
	f("meta.properties", "a=\\uZZZZ\n", "0: ")
	f("quorum-state", `{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":9}`, "0: quorum-state: unsupported record version")
	f(".kafka_cleanshutdown", "{", "0: not JSON")
	f("00000000000000000010.snapshot", "\x00\x01", "0: producer snapshot: ")
}

// Suffixes of files that come or go do not hide what they are.
func TestFilesOnTheirWay(t *testing.T) {
	_, both := twoBatches()
	for _, suffix := range []string{".deleted", ".swap", ".cleaned"} {
		text, problems := shown(t, disk(t, map[string][]byte{log10 + suffix: both}), log10+suffix, Options{})
		if len(problems) > 0 || !strings.Contains(text, "Log starting offset: 10\n") {
			t.Errorf("%s: %q\n%s", suffix, problems, text)
		}
	}
	if Decoder(DecodeOffsets) != decoderFor("/d/__consumer_offsets-1.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log") {
		t.Error("a partition being deleted is not decoded")
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestDumpErrors(t *testing.T) {
	first, _ := twoBatches()
	fs := disk(t, map[string][]byte{log10: bytes.Repeat(first, 1000), "t-0/readme.txt": {}})
	if _, err := Dump(&bytes.Buffer{}, fs, "t-0/readme.txt", Options{}); err == nil || !strings.Contains(err.Error(), "not a file that this tool knows") {
		t.Error(err)
	}
	if _, err := Dump(&bytes.Buffer{}, fs, "t-0/00000000000000000011.log", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Dump(fullDisk{}, fs, log10, Options{Data: true}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// FuzzDump gives any bytes to each kind of file: there may be problems, but no
// panic, and JSON stays JSON.
func FuzzDump(f *testing.F) {
	names := []string{
		log10, "__cluster_metadata-0/00000000000000000010-0000000001.checkpoint", "__consumer_offsets-0/00000000000000000010.log",
		"__transaction_state-0/00000000000000000010.log", "__share_group_state-0/00000000000000000010.log",
		"t-0/00000000000000000010.index", "t-0/00000000000000000010.timeindex", "t-0/00000000000000000010.txnindex",
		"t-0/00000000000000000010.snapshot", "t-0/leader-epoch-checkpoint", "t-0/partition.metadata",
		"d/meta.properties", "d/quorum-state", "d/.kafka_cleanshutdown", "d/recovery-point-offset-checkpoint",
		"__cluster_metadata-0/.ottla-durable", "__cluster_metadata-0/.ottla-votes-lost",
	}
	_, both := twoBatches()
	for i := range names {
		f.Add(uint8(i), both)
		f.Add(uint8(i), entry(int64(1), int32(2), int64(3)))
		f.Add(uint8(i), []byte("0\n1\nt 0 5\n"))
		f.Add(uint8(i), []byte("version: 0\na=b"))
	}
	f.Fuzz(func(t *testing.T, pick uint8, b []byte) {
		name := names[int(pick)%len(names)]
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			_, err := Dump(&out, disk(t, map[string][]byte{name: b}), name, Options{Data: true, JSON: asJSON})
			if err != nil {
				t.Fatal(err)
			}
			if asJSON {
				checkJSONLines(t, out.String())
			}
		}
	})
}
