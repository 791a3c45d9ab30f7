package sim

// forget draws what a crash leaves of a number of writes that were not synced:
// how many of them, in order. The rest of a batch that was half written is cut off
// when the log is opened, so of it nothing stays.
func (w *World) forget(writes int) (fate, int) {
	if w.stage == nil && (!w.chaos || !w.plan.Active[Forgotten]) {
		return kept, writes
	}
	switch w.rng.IntN(3) {
	case 0:
		w.count(Forgotten, writes > 0)
		return lost, 0
	case 1:
		stays := 0
		if writes > 0 {
			stays = w.rng.IntN(writes)
		}
		w.count(Forgotten, writes > 0)
		w.count(Torn, writes > 0 && w.plan.Active[Torn])
		return torn, stays
	}
	return kept, writes
}

// count notes that a fault has struck.
func (w *World) count(kind Fault, struck bool) {
	if struck {
		w.faults[kind]++
	}
}
