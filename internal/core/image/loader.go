package image

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/metarec"
)

// Loader builds an image from the records of a snapshot.
type Loader struct {
	a    applier
	prov Provenance
}

// NewLoader begins the image of a snapshot whose last contained record is at
// prov.
func NewLoader(prov Provenance) *Loader {
	l := &Loader{prov: prov}
	l.a.start(Empty())
	l.a.snapshot = true
	l.a.offset = prov.Offset
	return l
}

// Add applies records of the snapshot. Errors are those of Apply.
func (l *Loader) Add(recs ...metarec.Message) error {
	for _, rec := range recs {
		if err := l.a.apply(rec); err != nil {
			return fmt.Errorf("%s in snapshot: %w", rec.MessageName(), err)
		}
	}
	return nil
}

// Done gives the image of all records added.
func (l *Loader) Done() *Image {
	img := l.a.image().At(l.prov)
	img.loaded = true
	return img
}
