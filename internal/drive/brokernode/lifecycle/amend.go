package lifecycle

import "context"

// Amend sends the registration again, until it is taken, once: the one that the
// controller has is from before registrations named directories, so that it could
// not tell which replicas a failed directory takes along (KIP-858, KAFKA-16162). The
// incarnation is the same, and so the broker keeps its epoch and stays unfenced.
// Said again it changes nothing.
func (l *Lifecycle) Amend() {
	select {
	case l.amends <- struct{}{}:
	default: // it is being seen to, or done
	}
}

// amend waits until the registration is to be amended, and does so.
func (l *Lifecycle) amend(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-l.amends:
	}
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := l.askToRegister(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		l.cfg.Log.Debug("amended registration not taken yet", "err", err)
		if !pause(ctx, wait) {
			break
		}
	}
}
