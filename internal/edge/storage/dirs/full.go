package dirs

import (
	"context"
	"time"
)

// No volume gets full faster, in bytes a second, so this says when to look again.
const fillRate = 4 << 30

// Bounds of the time between two looks at the free space of a directory, and the
// least while nothing is written to it.
const (
	soonestLook = 10 * time.Millisecond
	idleLook    = 250 * time.Millisecond
	latestLook  = 5 * time.Second
)

// nextLook is when a directory may be full at the earliest.
func nextLook(usable int64, busy bool) time.Duration {
	least := soonestLook
	if !busy {
		least = idleLook
	}
	if usable >= int64(latestLook/time.Second)*fillRate {
		return latestLook
	}
	return max(time.Duration(usable)*time.Second/fillRate, least)
}

// watchSpace takes a directory that is being written to offline when its volume has no
// byte left, with the error of a write that was tried. Otherwise the first record that
// needs room would find out: one record in four, if they have a kilobyte. A full
// directory to which nobody writes goes on to be read.
//
// On a disk that hangs a look does not return, so nobody waits for this to end.
func (d *Dirs) watchSpace(ctx context.Context, at int) {
	timer := time.NewTimer(soonestLook)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(d.lookForSpace(d.directories()[at]))
		}
	}
}

// lookForSpace looks once and tells when to look again.
func (d *Dirs) lookForSpace(dir *directory) time.Duration {
	if dir.offline() != nil {
		return latestLook
	}
	_, busy := dir.stirred.round()
	usable, err := d.room(dir)
	switch {
	case err != nil || usable < 0:
		return latestLook // it is not known; whoever writes will find out
	case usable > 0 || !busy:
		return nextLook(usable, busy)
	}
	if err := d.probe(dir.path); err != nil {
		d.failOrWait(dir, err)
	}
	return latestLook // what is kept for this user still takes writes
}

// room gives the usable bytes of a directory's volume, and notes whether they are few.
func (d *Dirs) room(dir *directory) (usable int64, err error) {
	total, usable, err := d.fs.Space(dir.path)
	dir.scarce.Store(err == nil && isScarce(total, usable))
	return usable, err
}
