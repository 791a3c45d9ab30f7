package storage

import "slices"

// Adopt takes over what no record holds from the log that this one is a copy of,
// record for record: leader epochs that brought none, and the producers whose
// transactions are being verified. The epochs are durable when it returns. Neither
// log may be appended to meanwhile, nor the other one afterwards.
func (l *Log) Adopt(from *Log) error {
	from.writer.Lock()
	verifying := from.verifying
	from.verifying = verifications{last: verifying.last}
	from.writer.Unlock()
	list := from.Epochs()
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.verifying = verifying
	l.mu.Lock()
	same := slices.Equal(l.epochs.list, list)
	l.epochs.list = list
	l.mu.Unlock()
	if same {
		return nil
	}
	return l.refuse("adopt epochs", l.writeEpochs(true))
}
