package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// actions are what a tool of Kafka's does, one of which is chosen by a flag
// (kafka-topics --list) or, shorter, by a word (ottla topics list).
type actions struct {
	names  []string
	chosen []bool
}

func defineActions(cmd *cobra.Command, nameAndHelp ...string) *actions {
	a := &actions{chosen: make([]bool, len(nameAndHelp)/2)}
	for i := range a.chosen {
		name, help := nameAndHelp[2*i], nameAndHelp[2*i+1]
		a.names = append(a.names, name)
		cmd.Flags().BoolVar(&a.chosen[i], name, false, help)
	}
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.ValidArgs = a.names
	return a
}

// choose tells which action is asked for; exactly one must be.
func (a *actions) choose(args []string) (string, error) {
	var asked []string
	for i, on := range a.chosen {
		if on {
			asked = append(asked, a.names[i])
		}
	}
	for _, arg := range args {
		if !slices.Contains(a.names, arg) {
			return "", fmt.Errorf("%q is not one of: %s", arg, strings.Join(a.names, ", "))
		}
		asked = append(asked, arg)
	}
	if len(asked) != 1 {
		return "", fmt.Errorf("give exactly one of: --%s", strings.Join(a.names, ", --"))
	}
	return asked[0], nil
}

// run makes a command of actions that each need a cluster.
func (a *actions) run(f *clientFlags, do func(ctx context.Context, cmd *cobra.Command, admin *cluster, action string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		action, err := a.choose(args)
		if err != nil {
			return err
		}
		return f.admin(cmd, func(ctx context.Context, admin *cluster) error { return do(ctx, cmd, admin, action) })
	}
}
