package dirs

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
)

// Files in the metadata directory through which a command on the same machine gives
// the running node an order about its disks. Who may write there may format them.
const (
	orderFile  = ".ottla-disks-order"
	answerFile = ".ottla-disks-answer"
)

// orderLimit bounds both files.
const orderLimit = 1 << 20

// Order is what an operator wants done with a directory that is offline.
type Order struct {
	ID   string `json:"id"`
	Verb string `json:"verb"` // Replace or Readmit
	Dir  string `json:"dir"`  // as in log.dirs
	// SameDevice: the directory may lie on the disk of its parent.
	SameDevice bool `json:"sameDevice"`
	// AcceptLoss: what only the old disk had is given up.
	AcceptLoss bool `json:"acceptDataLoss"`
}

// The verbs of orders.
const (
	// Replace formats an empty disk and has it filled from the leaders.
	Replace = "replace"
	// Readmit takes a directory back whose sync has failed.
	Readmit = "readmit"
)

// Answer says how far an order was carried out.
type Answer struct {
	ID    string   `json:"id"`
	Steps []string `json:"steps"` // what was done, for people
	Done  bool     `json:"done"`
	Error string   `json:"error"` // why it was not done; empty: it was
}

// ErrOrdered says that another order has not been taken yet.
var ErrOrdered = errors.New("another order waits for the node")

// Give leaves an order for the node whose metadata directory this is.
func Give(f vfs.FS, metadataDir string, o Order) (id string, err error) {
	name := filepath.Join(metadataDir, orderFile)
	if there, err := vfs.Exists(f, name); err != nil || there {
		return "", errors.Join(err, fmt.Errorf("%w: %s; if no node runs there, remove it", ErrOrdered, name))
	}
	o.ID = rand.Text()
	b, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	return o.ID, vfs.WriteFileAtomic(f, name, b)
}

// Withdraw takes an order back that no node has taken.
func Withdraw(f vfs.FS, metadataDir string) error {
	return f.Remove(filepath.Join(metadataDir, orderFile))
}

// Taken tells whether a node has taken the order.
func Taken(f vfs.FS, metadataDir string) (bool, error) {
	there, err := vfs.Exists(f, filepath.Join(metadataDir, orderFile))
	return !there, err
}

// Heard gives the answer to an order, as far as it goes; false: there is none yet.
func Heard(f vfs.FS, metadataDir, id string) (Answer, bool, error) {
	var a Answer
	b, err := vfs.ReadFile(f, filepath.Join(metadataDir, answerFile), orderLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return a, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	return a, err == nil && a.ID == id, err
}

// TakeOrder takes the order that waits for the node, so that it is carried out once;
// false: there is none.
func TakeOrder(f vfs.FS, metadataDir string) (Order, bool, error) {
	var o Order
	name := filepath.Join(metadataDir, orderFile)
	b, err := vfs.ReadFile(f, name, orderLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	if err := f.Remove(name); err != nil {
		return o, false, err
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return o, false, fmt.Errorf("%s is no order: %w", name, err)
	}
	return o, true, nil
}

// AnswerOrder says how far an order was carried out.
func AnswerOrder(f vfs.FS, metadataDir string, a Answer) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(f, filepath.Join(metadataDir, answerFile), b)
}
