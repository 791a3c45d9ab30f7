package dumplog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magiconair/properties"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Limits of whole files that are read at once, in bytes.
const (
	smallFile       = 1 << 20
	largeCheckpoint = 64 << 20 // a line a partition
	largeSnapshot   = 64 << 20 // 46 bytes a producer
)

// producerItem is what a partition knows of one producer.
type producerItem struct {
	ProducerID       kafka.ProducerID `json:"producerId"`
	ProducerEpoch    int16            `json:"producerEpoch"`
	CoordinatorEpoch int32            `json:"coordinatorEpoch"`
	TxnFirstOffset   *kafka.Offset    `json:"currentTxnFirstOffset"` // null: none open
	LastTimestamp    int64            `json:"lastTimestamp"`         // milliseconds
	// Batch is the newest data batch; after a marker there is none.
	Batch *producerBatch `json:"batch"`
}

type producerBatch struct {
	FirstSequence int32        `json:"firstSequence"`
	LastSequence  int32        `json:"lastSequence"`
	LastOffset    kafka.Offset `json:"lastOffset"`
	OffsetDelta   int32        `json:"offsetDelta"`
}

func (producerItem) kind() string { return "producer" }

func (p producerItem) text(dst []byte) []byte {
	open := optional(0, false)
	if p.TxnFirstOffset != nil {
		open = optional(int64(*p.TxnFirstOffset), true)
	}
	dst = appendPair(dst, "producerId", int64(p.ProducerID))
	dst = appendPair(dst, "producerEpoch", int64(p.ProducerEpoch))
	dst = appendPair(dst, "coordinatorEpoch", int64(p.CoordinatorEpoch))
	dst = append(dst, " currentTxnFirstOffset: "+open...)
	dst = appendPair(dst, "lastTimestamp", p.LastTimestamp)
	if p.Batch == nil {
		return dst
	}
	dst = appendPair(dst, "firstSequence", int64(p.Batch.FirstSequence))
	dst = appendPair(dst, "lastSequence", int64(p.Batch.LastSequence))
	dst = appendPair(dst, "lastOffset", int64(p.Batch.LastOffset))
	dst = appendPair(dst, "offsetDelta", int64(p.Batch.OffsetDelta))
	return appendPair(dst, "timestamp", p.LastTimestamp)
}

func (d *dumper) producerSnapshot() error {
	b, err := d.all(largeSnapshot)
	if err != nil {
		return err
	}
	s, err := metarec.ReadProducerSnapshot(b)
	if err != nil {
		d.problem(0, "%w", err)
		return nil
	}
	for i := range s.ProducerEntries {
		if !d.put(newProducerItem(&s.ProducerEntries[i])) {
			break
		}
	}
	return nil
}

func newProducerItem(e *metarec.ProducerSnapshotProducerEntry) producerItem {
	p := producerItem{
		ProducerID: kafka.ProducerID(e.ProducerId), ProducerEpoch: e.Epoch,
		CoordinatorEpoch: e.CoordinatorEpoch, LastTimestamp: e.Timestamp,
	}
	if first := kafka.Offset(e.CurrentTxnFirstOffset); first >= 0 {
		p.TxnFirstOffset = &first
	}
	if e.LastOffset >= 0 {
		first := int64(e.LastSequence) - int64(e.OffsetDelta)
		if first < 0 {
			first += 1 << 31 // sequences go from 2147483647 to 0
		}
		p.Batch = &producerBatch{int32(first), e.LastSequence, kafka.Offset(e.LastOffset), e.OffsetDelta}
	}
	return p
}

// offsetLine is a line of a checkpoint of offsets.
type offsetLine struct {
	Topic     string            `json:"topic"`
	Partition kafka.PartitionID `json:"partition"`
	Offset    kafka.Offset      `json:"offset"`
}

func (offsetLine) kind() string { return "offsetCheckpointEntry" }

func (l offsetLine) text(dst []byte) []byte {
	return fmt.Appendf(dst, "topic: %s partition: %d offset: %d", l.Topic, l.Partition, l.Offset)
}

// epochLine is a line of a partition's epoch history.
type epochLine struct {
	Epoch kafka.Epoch  `json:"leaderEpoch"`
	Start kafka.Offset `json:"startOffset"`
}

func (epochLine) kind() string { return "epochCheckpointEntry" }

func (l epochLine) text(dst []byte) []byte {
	return appendPair(appendPair(dst, "leaderEpoch", int64(l.Epoch)), "startOffset", int64(l.Start))
}

func (d *dumper) offsetCheckpoint() error {
	return d.checkpoint(func(line string) (item, error) {
		var l offsetLine
		n, err := fmt.Sscanf(line, "%s %d %d", &l.Topic, &l.Partition, &l.Offset)
		if err != nil || n != 3 || len(strings.Fields(line)) != 3 {
			return nil, fmt.Errorf("%q is not \"topic partition offset\"", line)
		}
		return l, nil
	})
}

func (d *dumper) epochCheckpoint() error {
	last := epochLine{Epoch: kafka.NoEpoch, Start: kafka.NoOffset}
	return d.checkpoint(func(line string) (item, error) {
		var l epochLine
		n, err := fmt.Sscanf(line, "%d %d", &l.Epoch, &l.Start)
		if err != nil || n != 2 || len(strings.Fields(line)) != 2 {
			return nil, fmt.Errorf("%q is not \"epoch offset\"", line)
		}
		if l.Epoch <= last.Epoch || l.Start < last.Start {
			return nil, fmt.Errorf("epoch %d at %d does not rise from %d at %d", l.Epoch, l.Start, last.Epoch, last.Start)
		}
		last = l
		return l, nil
	})
}

// checkpoint prints a text checkpoint: a line with the version, one with the
// number of entries, and a line an entry. An empty file has none.
func (d *dumper) checkpoint(parse func(line string) (item, error)) error {
	b, err := d.all(largeCheckpoint)
	if err != nil || len(b) == 0 {
		return err
	}
	position, entries, announced := int64(0), 0, -1
	for i, line := range strings.SplitAfter(string(b), "\n") {
		text := strings.TrimRight(line, "\r\n")
		goOn := true
		switch {
		case line == "":
		case i == 0 && text != "0":
			d.problem(position, "version is %q, not 0", text)
			return nil
		case i == 0:
		case i == 1:
			if _, err := fmt.Sscanf(text, "%d", &announced); err != nil || announced < 0 {
				d.problem(position, "%q is not a number of entries", text)
				return nil
			}
		default:
			entries++
			it, err := parse(text)
			goOn = err == nil && d.put(it) || err != nil && d.problem(position, "%w", err)
		}
		if !goOn {
			return nil
		}
		position += int64(len(line))
	}
	if entries != announced {
		d.problem(position, "file has %d entries and says %d", entries, announced)
	}
	return nil
}

// property is a name with its value in one of the files that hold such.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (property) kind() string { return "property" }

func (p property) text(dst []byte) []byte {
	return appendPrintable(append(dst, p.Name+": "...), []byte(p.Value))
}

func (d *dumper) metaProperties() error {
	b, err := d.all(smallFile)
	if err != nil {
		return err
	}
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	p, err := loader.LoadBytes(b)
	if err != nil {
		d.problem(0, "%w", err)
		return nil
	}
	names := p.Keys()
	slices.Sort(names)
	for _, name := range names {
		value, _ := p.Get(name)
		d.put(property{name, value})
	}
	for _, name := range []string{"version", "cluster.id"} {
		if _, ok := p.Get(name); !ok {
			d.problem(d.size, "%s is missing", name)
		}
	}
	return nil
}

func (d *dumper) partitionMetadata() error {
	b, err := d.all(smallFile)
	if err != nil {
		return err
	}
	position := int64(0)
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if !ok {
			d.problem(position, "%q is not \"name: value\"", strings.TrimRight(line, "\r\n"))
			return nil
		}
		values[name] = value
		d.put(property{name, value})
		position += int64(len(line))
	}
	if values["version"] != "0" {
		d.problem(0, "version is %q, not 0", values["version"])
	}
	if _, err := kafka.ParseUUID(values["topic_id"]); err != nil {
		d.problem(0, "topic_id: %w", err)
	}
	return nil
}

// jsonFile is a file of one JSON object.
type jsonFile struct {
	name   string
	Object json.RawMessage `json:"data"`
}

func (j jsonFile) kind() string { return j.name }

func (j jsonFile) text(dst []byte) []byte { return append(dst, j.Object...) }

func (d *dumper) quorumState() error {
	b, err := d.all(smallFile)
	if err != nil {
		return err
	}
	state, version, err := metarec.ReadQuorumState(b)
	if err != nil {
		d.problem(0, "%w", err)
		return nil
	}
	text, err := metarec.AppendQuorumState(nil, state, version)
	if err != nil {
		return err
	}
	d.put(jsonFile{"quorumState", text})
	return nil
}

func (d *dumper) cleanShutdown() error {
	b, err := d.all(smallFile)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, b); err != nil {
		d.problem(0, "not JSON: %w", err)
		return nil
	}
	d.put(jsonFile{"cleanShutdown", line.Bytes()})
	return nil
}

// lock is the file that a running node holds; nothing is ever in it.
func (d *dumper) lock() error {
	d.put(property{"lock", "held by a node while it runs; it has no content"})
	return nil
}

// votesLost is a mark by its name alone.
func (d *dumper) votesLost() error {
	d.put(property{"votes.lost", "quorum-state was missing at a start, and what this node voted before may still count; it has no content"})
	return nil
}

// bootNote names the start of the machine under which all logs of the directory
// were last found whole.
func (d *dumper) bootNote() error {
	b, err := d.all(smallFile)
	if err != nil {
		return err
	}
	d.put(property{"boot", string(b)})
	return nil
}

// durableMark says below which offset a metadata log is durable.
func (d *dumper) durableMark() error {
	b, err := d.all(smallFile)
	if err != nil {
		return err
	}
	mark, err := metarec.ReadDurableMark(b)
	if err != nil {
		d.problem(0, "%w", err)
		return nil
	}
	d.put(property{"durable", strconv.FormatInt(mark.Below, 10)})
	if mark.Epoch >= 0 {
		d.put(property{"durable.epoch", strconv.FormatInt(int64(mark.Epoch), 10)})
	}
	return nil
}
