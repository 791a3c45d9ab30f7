package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/sim"
)

// simFlags are what "ottla sim" can be asked for.
type simFlags struct {
	seed  uint64
	count int
	trace bool
	scene string
	plan  string
	less  int
}

// newSimCmd is for those who work on the quorum: it plays seeds of the
// simulator, and tells the story of one.
func newSimCmd() *cobra.Command {
	f := &simFlags{}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Play seeds of the simulated quorum",
		Long: `Play seeds of the simulator: the quorum of this binary in virtual time, with a
network and disks that fail as the seed has drawn it. The rules of the quorum
are checked after every event. One seed is always one story, told by its hash.`,
		Example: `  ottla sim --seed 46 --trace
  ottla sim --seed 0 --count 1000
  ottla sim --scene P4-example --seed 17 --trace
  ottla sim --seed 46 --shrink 5000 | tail -1 > plan; ottla sim --plan plan --trace`,
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return f.run(cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "the seed, or the first one")
	flags.IntVar(&f.count, "count", 1, "how many seeds")
	flags.StringVar(&f.scene, "scene", "", "play a scene of docs/kip-996.md instead of chance; ? lists them")
	flags.StringVar(&f.plan, "plan", "", "play the plan in this file, as --shrink prints it")
	flags.IntVar(&f.less, "shrink", 0, "look through this many stories for the shortest that breaks the same rule")
	flags.BoolVar(&f.trace, "trace", false, "print everything that happens, a line each: simulated seconds, then what")
	return cmd
}

func (f *simFlags) run(out io.Writer) error {
	var story io.Writer
	if f.trace {
		story = out
	}
	play, err := f.player(story)
	if err != nil {
		return err
	}
	failed := 0
	for i := range f.count {
		began := time.Now()
		r := play(f.seed + uint64(i))
		if r.Failure != nil {
			failed++
		}
		if err := printResult(out, r, time.Since(began)); err != nil {
			return err
		}
		if r.Failure != nil && f.less > 0 && f.scene == "" {
			if err := f.shrink(out, r.Plan); err != nil {
				return err
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d seeds break a rule", failed, f.count)
	}
	return nil
}

// player is what plays a seed: the simulator's own plan, or a scene.
func (f *simFlags) player(story io.Writer) (func(seed uint64) sim.Result, error) {
	if f.plan != "" {
		text, err := os.ReadFile(f.plan)
		if err != nil {
			return nil, fmt.Errorf("--plan: %w", err)
		}
		p, err := sim.ParsePlan(text)
		if err != nil {
			return nil, fmt.Errorf("--plan %s: %w", f.plan, err)
		}
		return func(uint64) sim.Result { return sim.RunPlan(p, story) }, nil
	}
	if f.scene == "" {
		return func(seed uint64) sim.Result { return sim.Run(seed, story) }, nil
	}
	var names []string
	for _, sc := range sim.Scenes() {
		if sc.Name == f.scene {
			return func(seed uint64) sim.Result { return sim.PlayScene(sc, seed, story).Result }, nil
		}
		names = append(names, sc.Name)
	}
	return nil, fmt.Errorf("no scene %q; there are %s", f.scene, strings.Join(names, ", "))
}

// shrink prints the shortest story found, and its plan on a line of its own.
func (f *simFlags) shrink(out io.Writer, p sim.Plan) error {
	began := time.Now()
	short, r := sim.Shrink(p, f.less)
	if err := printResult(out, r, time.Since(began)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, short.Text())
	return err
}

// printResult is one run as a paragraph: the plan, what came of it, and what
// broke.
func printResult(out io.Writer, r sim.Result, took time.Duration) error {
	_, err := fmt.Fprintf(out, "%v\n  ottla %s, hash %s\n  %v simulated in %v: %d events, %d epochs with a leader, %d proposals acknowledged\n  faults: %v\n  rules: %v\n",
		r.Plan, buildVersion(), r.Hash, r.Simulated.Round(time.Millisecond), took.Round(time.Millisecond),
		r.Events, r.Epochs, r.Acked, r.Faults, r.Checks)
	if err == nil && r.Failure != nil {
		_, err = fmt.Fprintf(out, "  BROKEN: %v\n", r.Failure)
	}
	return err
}
