package dirs

import "context"

func (d *Dirs) cleanLoop(ctx context.Context, owner Owner) { <-ctx.Done() }
