package format

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// Request is what a person asks for, flag by flag.
type Request struct {
	Node               *config.Node // what the properties file says
	ClusterID          string
	Standalone         bool
	InitialControllers string // "" is not given
	NoInitial          bool   // --no-initial-controllers
	Release            string
	Features           []string // name=level
	Scram              []string
	IgnoreFormatted    bool
}

// Found is what a directory holds before it is formatted.
type Found struct {
	Dir  string
	Meta *metaprops.Properties // nil when it is not formatted
	Err  error                 // why it cannot be read
	// SameAs names another directory of the list that is this one by another
	// path, "" when there is none.
	SameAs string
}

// Plan is what will be written.
type Plan struct {
	Level image.Level
	Files []File   // in the order they are written
	Notes []string // lines for the person, in order

	metadataDir kafka.DirID // of the metadata directory, if it is new
}

// File is one file to write whole.
type File struct {
	Path string
	Data []byte
}

// checkpointName is the snapshot at offset 0 and epoch 0, which only a
// controller reads, at its first start (KIP-1170).
const checkpointName = "00000000000000000000-0000000000.checkpoint"

// Dirs are all directories that a node keeps a meta.properties in: the one of
// the metadata log first, then the log directories.
func Dirs(n *config.Node) []string {
	dirs := []string{n.MetadataDir}
	for _, dir := range n.LogDirs {
		if filepath.Clean(dir) != filepath.Clean(n.MetadataDir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Decide makes the plan, or says why there can be none. found tells about all
// directories of Dirs; random gives ids and salts. The error's text tells a
// person what to do.
func Decide(r Request, found []Found, random io.Reader, now time.Time) (Plan, error) {
	voters, err := quorumOf(r)
	if err != nil {
		return Plan{}, err
	}
	l, err := chooseLevels(r, len(r.Node.Voters) == 0)
	if err != nil {
		return Plan{}, err
	}
	if err := l.mustBeServed(); err != nil {
		return Plan{}, err
	}
	return planFor(r, voters, l, found, random, now)
}

// planFor makes the plan for a request whose quorum and levels are good.
func planFor(r Request, voters []Voter, l levels, found []Found, random io.Reader, now time.Time) (Plan, error) {
	scram, err := scramRecords(r, l.metadata, random)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Level: l.metadata}
	empty, err := p.sortOut(r, found)
	if err != nil || len(empty) == 0 {
		return p, err
	}
	if err := p.identities(r, voters, found, empty, random, now); err != nil {
		return Plan{}, err
	}
	if r.Node.Controller && empty[0] == r.Node.MetadataDir {
		if r.Standalone {
			voters = []Voter{p.standalone(r)}
		}
		data, err := checkpoint(l, voters, firstName(r.Node), scram, now)
		if err != nil {
			return Plan{}, err
		}
		path := filepath.Join(r.Node.MetadataDir, kafka.MetadataTopic+"-0", checkpointName)
		p.Files = append([]File{{path, data}}, p.Files...)
	}
	p.note(r, l, voters, empty)
	return p, nil
}

// quorumOf checks what is said about the quorum, and reads the first voters if
// they are listed.
func quorumOf(r Request) ([]Voter, error) {
	var given []string
	for _, f := range []struct {
		set  bool
		name string
	}{{r.Standalone, "--standalone"}, {r.InitialControllers != "", "--initial-controllers"}, {r.NoInitial, "--no-initial-controllers"}} {
		if f.set {
			given = append(given, f.name)
		}
	}
	static := len(r.Node.Voters) > 0
	switch {
	case r.ClusterID == "":
		return nil, errors.New("the cluster id is empty: give --cluster-id the output of ottla storage random-uuid, the same one on all nodes")
	case len(given) > 1:
		return nil, fmt.Errorf("%s exclude each other: give one of them", strings.Join(given, " and "))
	case static && (r.Standalone || r.InitialControllers != ""):
		return nil, refuse("You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. " +
			"If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead.")
	case r.Standalone && !r.Node.Controller:
		return nil, refuse("You can only use --standalone on a controller.")
	case r.Node.Controller && !static && len(given) == 0:
		return nil, refuse("Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, --initial-controllers, or --no-initial-controllers.")
	case r.Standalone && len(r.Node.AdvertisedControllers) == 0:
		return nil, refuse("--standalone needs a controller listener: none of controller.listener.names is in listeners")
	case r.InitialControllers != "":
		return ParseVoters(r.InitialControllers)
	}
	return nil, nil
}

func scramRecords(r Request, level image.Level, random io.Reader) ([]*metarec.UserScramCredentialRecord, error) {
	if len(r.Scram) > 0 && level < image.LevelScram {
		return nil, refuse("SCRAM is only supported in metadata.version %s or later.", image.LevelScram)
	}
	var records []*metarec.UserScramCredentialRecord
	for _, text := range r.Scram {
		record, err := ParseScram(text, random)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// sortOut holds what the directories say against the request and returns those
// to format. A directory that cannot be read is passed over with a note, as the
// node would start without it; the metadata log's of a controller is not.
func (p *Plan) sortOut(r Request, found []Found) (empty []string, err error) {
	readable := 0
	for _, f := range found {
		switch {
		case f.SameAs != "":
			return nil, fmt.Errorf("%s and %s are the same directory; name it once in log.dirs", f.SameAs, f.Dir)
		case f.Err != nil && f.Dir == r.Node.MetadataDir && r.Node.Controller:
			return nil, fmt.Errorf("the metadata directory %s cannot be read: %w", f.Dir, f.Err)
		case f.Err != nil:
			p.Notes = append(p.Notes, fmt.Sprintf("I/O error trying to read log directory %s. Ignoring... (%v)", f.Dir, f.Err))
			continue
		case f.Meta == nil:
			empty = append(empty, f.Dir)
		default:
			if err := matches(r, f); err != nil {
				return nil, err
			}
		}
		readable++
	}
	switch {
	case readable == 0:
		return nil, ErrNothing
	case len(empty) == 0:
		p.Notes = append(p.Notes, "All of the log directories are already formatted.")
	}
	return empty, nil
}

// matches holds a formatted directory against the request.
func matches(r Request, f Found) error {
	file := filepath.Join(f.Dir, metaprops.FileName)
	switch {
	case !r.IgnoreFormatted:
		return refuse("Log directory %s is already formatted. Use --ignore-formatted to ignore this directory and format the others.", f.Dir)
	case f.Meta.ClusterID != r.ClusterID:
		return refuse("Invalid cluster.id in: %s. Expected %s, but read %s; format with --cluster-id %s, or empty the directory for a new cluster",
			file, r.ClusterID, f.Meta.ClusterID, f.Meta.ClusterID)
	case f.Meta.NodeID != r.Node.ID:
		return refuse("Stored node id %d doesn't match the configured node id %d in %s. "+
			"If you moved your data, set node.id to %d. If you intend to create a new node, you should remove all data in your data directories.",
			f.Meta.NodeID, r.Node.ID, file, f.Meta.NodeID)
	}
	return nil
}

// identities gives every empty directory its id. A node that is listed among
// the first voters takes the id from the list for its metadata directory.
func (p *Plan) identities(r Request, voters []Voter, found []Found, empty []string, random io.Reader, now time.Time) error {
	var used []kafka.DirID
	for _, f := range found {
		if f.Meta != nil {
			used = append(used, f.Meta.DirID)
		}
	}
	for _, v := range voters {
		used = append(used, v.Dir)
	}
	for _, dir := range empty {
		var id kafka.DirID
		i := slices.IndexFunc(voters, func(v Voter) bool { return v.Node == r.Node.ID })
		if dir == r.Node.MetadataDir && i >= 0 {
			id = voters[i].Dir
		} else {
			var err error
			if id, err = NewDirID(random, used); err != nil {
				return err
			}
		}
		used = append(used, id)
		meta := metaprops.Properties{Version: 1, ClusterID: r.ClusterID, NodeID: r.Node.ID, DirID: id}
		p.Files = append(p.Files, File{filepath.Join(dir, metaprops.FileName), meta.Text(now)})
		if dir == r.Node.MetadataDir {
			p.metadataDir = id
		}
	}
	return nil
}

// NewDirID makes a random directory id: none of the reserved ones or of used,
// and none whose text begins with a dash, which would look like a flag.
func NewDirID(random io.Reader, used []kafka.DirID) (kafka.DirID, error) {
	for {
		var id kafka.DirID
		if _, err := io.ReadFull(random, id[:]); err != nil {
			return id, fmt.Errorf("make a directory id: %w", err)
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a random UUID (RFC 9562, version 4)
		if !id.Reserved() && !strings.HasPrefix(id.String(), "-") && !slices.Contains(used, id) {
			return id, nil
		}
	}
}

// standalone is this node as the only voter: at the first address it tells
// others for controllers, on "localhost" if that has no host.
func (p *Plan) standalone(r Request) Voter {
	l := r.Node.AdvertisedControllers[0]
	if config.Wildcard(l.Host) {
		l.Host = "localhost"
	}
	return Voter{kafka.ReplicaKey{Node: r.Node.ID, Dir: p.metadataDir}, l.Host, uint16(l.Port)}
}

func firstName(n *config.Node) string {
	if len(n.ControllerNames) == 0 {
		return ""
	}
	return n.ControllerNames[0]
}

// note adds the lines that tell what is written, in Kafka's words.
func (p *Plan) note(r Request, l levels, voters []Voter, empty []string) {
	bootstrap := fmt.Sprintf("Bootstrap metadata: %s=%d (%s), %s=%d", image.MetadataVersion, l.metadata, l.metadata, image.KRaftVersion, l.kraft)
	for _, f := range l.others {
		bootstrap += fmt.Sprintf(", %s=%d", f.name, f.level)
	}
	p.Notes = append(p.Notes, bootstrap)
	for _, dir := range empty {
		kind := "data directory"
		switch {
		case dir != r.Node.MetadataDir:
		case len(voters) == 0:
			kind = "metadata directory"
		case slices.ContainsFunc(voters, func(v Voter) bool { return v.Node == r.Node.ID }):
			kind = "dynamic metadata voter directory"
		default:
			kind = "dynamic metadata directory"
		}
		p.Notes = append(p.Notes, fmt.Sprintf("Formatting %s %s with metadata.version %s.", kind, dir, l.metadata))
	}
}
