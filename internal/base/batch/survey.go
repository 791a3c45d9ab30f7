package batch

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
)

// survey is what a walk over the records found.
type survey struct {
	maxTimestamp int64
	maxDelta     int32 // the first record with maxTimestamp
	consecutive  bool
	problems     []RecordProblem
	onlyTimes    bool // all problems are timestamps
}

func (s *survey) add(i int, message string, time bool) {
	s.onlyTimes = time && (s.onlyTimes || len(s.problems) == 0)
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, RecordProblem{Index: int32(i), Message: message})
	}
}

func (s *survey) err() error {
	switch {
	case len(s.problems) == 0:
		return nil
	case s.onlyTimes:
		return &RecordsError{s.problems, kerr.Errorf(kerr.InvalidTimestamp, "one or more records have timestamps out of the topic's range")}
	}
	return &RecordsError{s.problems, kerr.Errorf(kerr.InvalidRecord, "one or more records were rejected")}
}

func surveyRecords(h Header, body []byte, p Policy) (survey, error) {
	s := survey{maxTimestamp: NoTimestamp, consecutive: true}
	c := cursor{b: body}
	for i := range int(h.Count) {
		f, ok := c.next()
		if !ok {
			return s, kerr.Errorf(kerr.InvalidRecord, "record %d of %d is malformed", i, h.Count)
		}
		s.look(i, h.BaseTimestamp+f.timestampDelta, f, p)
	}
	if len(c.b) > 0 {
		return s, kerr.Errorf(kerr.InvalidRecord, "%d bytes follow the last record", len(c.b))
	}
	return s, s.err()
}

// surveyStream is surveyRecords for records that come through a tape.
func surveyStream(h Header, t *tape, p Policy) (survey, error) {
	s := survey{maxTimestamp: NoTimestamp, consecutive: true}
	for i := range int(h.Count) {
		f, err := t.next()
		if err == errShape {
			return s, kerr.Errorf(kerr.InvalidRecord, "record %d of %d is malformed", i, h.Count)
		}
		if err != nil {
			return s, err
		}
		s.look(i, h.BaseTimestamp+f.timestampDelta, f, p)
	}
	if err := t.ended(); err != nil {
		return s, err
	}
	return s, s.err()
}

func (s *survey) look(i int, timestamp int64, f frame, p Policy) {
	s.consecutive = s.consecutive && f.offsetDelta == int32(i)
	if i == 0 || timestamp > s.maxTimestamp {
		s.maxTimestamp, s.maxDelta = timestamp, int32(i)
	}
	if f.key == nil && p.Compacted {
		s.add(i, "a compacted topic needs a key in every record", false)
	}
	if !p.LogAppendTime && timestamp != NoTimestamp && !p.timely(timestamp) {
		s.late(i, timestamp, p)
	}
}

// late notes a timestamp out of range. Text is made only for what is answered: a
// small batch may hold millions of bad records.
func (s *survey) late(i int, timestamp int64, p Policy) {
	text := ""
	if len(s.problems) < maxProblems {
		text = fmt.Sprintf("timestamp %d is not between %d before and %d after the broker's %d", timestamp, p.BeforeMax, p.AfterMax, p.Now)
	}
	s.add(i, text, true)
}

// timely tells whether a client's time is one that the topic takes. BeforeMax
// and AfterMax may be the largest number, so differences are compared.
func (p Policy) timely(timestamp int64) bool {
	if timestamp < p.Now {
		return timestamp >= 0 && p.Now-timestamp <= p.BeforeMax
	}
	return timestamp-p.Now <= p.AfterMax
}
