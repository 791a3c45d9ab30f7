package lifecycle

import "context"

// Amend sends the registration again, until it is taken: the one that the controller
// has names no directories, as it is from before registrations did, so that it could
// not tell which replicas a failed directory takes along (KIP-858, KAFKA-16162); or it
// lacks one that has come back. The incarnation is the same, and so the broker keeps
// its epoch and stays unfenced. Said again while that is under way it adds nothing.
func (l *Lifecycle) Amend() {
	select {
	case l.amends <- struct{}{}:
	default: // it is being seen to
	}
}

// amend amends the registration when that is asked for, at most once in each interval
// of heartbeats: who asks may not have seen what came of it.
func (l *Lifecycle) amend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.amends:
		}
		for wait := firstWait; ; wait = min(2*wait, lastWait) {
			select {
			case <-l.amends: // what is sent now is an answer to that, too
			default:
			}
			err := l.askToRegister(ctx)
			if err == nil {
				break
			}
			l.cfg.Log.Debug("amended registration not taken yet", "err", err)
			if !pause(ctx, wait) {
				return
			}
		}
		if !pause(ctx, l.cfg.HeartbeatInterval) {
			return
		}
	}
}
