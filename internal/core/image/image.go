package image

import "github.com/ottla/ottla/internal/base/kafka"

// Provenance tells up to which record an image was built.
type Provenance struct {
	Offset      kafka.Offset // of the last record contained; -1: none
	Epoch       kafka.Epoch  // of that record
	TimestampMs int64        // when that record was appended
}

// NoProvenance is that of the empty image.
var NoProvenance = Provenance{Offset: kafka.NoOffset, Epoch: kafka.NoEpoch, TimestampMs: -1}

// Image is the metadata of a cluster at one offset of the metadata log.
type Image struct {
	prov Provenance
	nodeSet
	topicSet
	settingSet
	securitySet
	// open is set while a metadata transaction (KIP-868) is under way.
	open *transaction
	// loaded: it goes back to a snapshot, which does not say of a directory whether a
	// record named it or a rule.
	loaded bool
}

// transaction remembers where an open metadata transaction began.
type transaction struct {
	name string
	// before is what the image was at the begin record.
	before *Image
	// changed gathers what the transaction has changed since.
	changed *changes
}

var empty = &Image{prov: NoProvenance, nodeSet: noNodes, topicSet: noTopics, settingSet: noSettings, securitySet: noSecurity}

// Empty is the image before the first record.
func Empty() *Image { return empty }

// Provenance tells up to which record the image was built.
func (i *Image) Provenance() Provenance { return i.prov }

// NextOffset is where the next record goes if nothing else is written before.
func (i *Image) NextOffset() kafka.Offset { return i.prov.Offset + 1 }

// At returns the same image with another provenance. Apply sets only the
// offset; whoever knows the batch sets epoch and time, and skips the offsets
// of control records.
func (i *Image) At(p Provenance) *Image {
	next := *i
	next.prov = p
	return &next
}

// InTransaction tells whether a metadata transaction is open. Its name is for
// people.
func (i *Image) InTransaction() (name string, open bool) {
	if i.open == nil {
		return "", false
	}
	return i.open.name, true
}

// Stable is what readers may see: the image itself, or what it was before the
// metadata transaction that is open.
func (i *Image) Stable() *Image {
	if i.open == nil {
		return i
	}
	return i.open.before
}

// DefaultDir is the directory to record for a new replica on a node.
func (i *Image) DefaultDir(node kafka.NodeID) kafka.DirID {
	b, registered := i.brokers.Get(node)
	switch {
	case !i.Level().HasDirectories():
		return kafka.DirMigrating
	case !registered:
		return kafka.DirUnassigned
	}
	return b.DefaultDir()
}
