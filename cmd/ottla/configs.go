package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// configsFlags are the flags of "ottla configs", named as those of
// kafka-configs.
type configsFlags struct {
	clientFlags
	entityType     string
	entityName     string
	entityDefault  bool
	topic          string
	broker         string
	brokerDefaults bool
	all            bool
	add            string
	delete         string
}

// newConfigsCmd is "ottla configs": Kafka's kafka-configs.
func newConfigsCmd() *cobra.Command {
	f := &configsFlags{}
	cmd := &cobra.Command{
		Use:   "configs (--describe | --alter)",
		Short: "Print and change the settings of topics and brokers",
		Example: `  ottla configs --describe --topic t
  ottla configs --alter --topic t --add-config retention.ms=60000,cleanup.policy=[compact,delete]
  ottla configs --alter --entity-type brokers --entity-default --delete-config log.retention.ms`,
	}
	act := defineActions(cmd, "describe", "print settings", "alter", "change settings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		action, err := act.choose(args)
		if err != nil {
			return err
		}
		e, err := f.entity()
		if err != nil {
			return err
		}
		return f.admin(cmd, func(ctx context.Context, admin *cluster) error {
			if action == "describe" {
				return f.describe(ctx, cmd, admin, e)
			}
			return f.alter(ctx, cmd, admin, e)
		})
	}
	f.define(cmd)
	f.defineJSON(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.entityType, "entity-type", "", "what has the settings: topics or brokers")
	flags.StringVar(&f.entityName, "entity-name", "", "name of the topic, or id of the broker")
	flags.BoolVar(&f.entityDefault, "entity-default", false, "the default of all brokers")
	flags.StringVar(&f.topic, "topic", "", "the same as --entity-type topics --entity-name")
	flags.StringVar(&f.broker, "broker", "", "the same as --entity-type brokers --entity-name")
	flags.BoolVar(&f.brokerDefaults, "broker-defaults", false, "the same as --entity-type brokers --entity-default")
	flags.BoolVar(&f.all, "all", false, "with --describe: settings that are at their default too")
	flags.StringVar(&f.add, "add-config", "", "settings to make, as key=value,key=[list,of,values]")
	flags.StringVar(&f.delete, "delete-config", "", "keys to set back, separated by commas")
	return cmd
}

// entity is what has settings: a topic, a broker, or all brokers.
type entity struct {
	topic  string // "" for brokers
	broker int32  // -1 is the default of all
}

func (e entity) String() string {
	switch {
	case e.topic != "":
		return "topic " + e.topic
	case e.broker < 0:
		return "all brokers"
	}
	return fmt.Sprintf("broker %d", e.broker)
}

func (f *configsFlags) entity() (entity, error) {
	kind, name, whole := f.entityType, f.entityName, f.entityDefault
	switch {
	case f.topic != "":
		kind, name = "topics", f.topic
	case f.broker != "":
		kind, name = "brokers", f.broker
	case f.brokerDefaults:
		kind, whole = "brokers", true
	}
	switch {
	case kind == "":
		return entity{}, errors.New("--entity-type is missing: topics or brokers; or give --topic, --broker or --broker-defaults")
	case kind != "topics" && kind != "brokers":
		return entity{}, fmt.Errorf("--entity-type %q is not one of: topics, brokers", kind)
	case kind == "topics" && name == "":
		return entity{}, errors.New("name the topic: --topic NAME")
	case kind == "topics":
		return entity{topic: name, broker: -1}, nil
	case whole:
		return entity{broker: -1}, nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil || id < 0 {
		return entity{}, fmt.Errorf("%q is not the id of a broker: --broker ID, or --broker-defaults for all", name)
	}
	return entity{broker: int32(id)}, nil
}

// setting is one as "ottla configs --describe --json" prints it.
type setting struct {
	Name      string  `json:"name"`
	Value     *string `json:"value"`
	Source    string  `json:"source"`
	Sensitive bool    `json:"sensitive"`
}

func (f *configsFlags) describe(ctx context.Context, cmd *cobra.Command, admin *cluster, e entity) error {
	settings, err := fetchSettings(ctx, admin, e, f.all)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return printJSON(cmd.OutOrStdout(), settings)
	case len(settings) == 0:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has no settings of its own (--all prints the others)\n", e)
		return err
	}
	t := &table{}
	t.row("NAME", "VALUE", "SOURCE")
	for _, s := range settings {
		value := text(s.Value)
		if s.Sensitive {
			value = "(hidden)"
		}
		t.row(s.Name, value, s.Source)
	}
	return t.print(cmd.OutOrStdout())
}

// fetchSettings asks for settings: those made for the entity, or all.
func fetchSettings(ctx context.Context, admin *cluster, e entity, all bool) ([]setting, error) {
	var answers kadm.ResourceConfigs
	var err error
	switch {
	case e.topic != "":
		answers, err = admin.DescribeTopicConfigs(ctx, e.topic)
	case e.broker < 0:
		answers, err = admin.DescribeBrokerConfigs(ctx)
	default:
		answers, err = admin.DescribeBrokerConfigs(ctx, e.broker)
	}
	if err != nil {
		return nil, fmt.Errorf("describe settings of %s: %s", e, plain(err))
	}
	settings := []setting{}
	for _, a := range answers {
		if a.Err != nil {
			return nil, refused(fmt.Sprintf("describe settings of %s", e), a.Err, a.ErrMessage)
		}
		for _, c := range a.Configs {
			if all || made(c.Source, e) {
				settings = append(settings, setting{c.Key, c.Value, c.Source.String(), c.Sensitive})
			}
		}
	}
	slices.SortFunc(settings, func(a, b setting) int { return cmp.Compare(a.Name, b.Name) })
	return settings, nil
}

// made tells whether a value was set for the entity while the cluster ran.
func made(source kmsg.ConfigSource, e entity) bool {
	switch {
	case e.topic != "":
		return source == kmsg.ConfigSourceDynamicTopicConfig
	case e.broker < 0:
		return source == kmsg.ConfigSourceDynamicDefaultBrokerConfig
	}
	return source == kmsg.ConfigSourceDynamicBrokerConfig
}

func (f *configsFlags) alter(ctx context.Context, cmd *cobra.Command, admin *cluster, e entity) error {
	changes, err := f.changes()
	if err != nil {
		return err
	}
	if err := mustBeMade(ctx, admin, e, changes); err != nil {
		return err
	}
	var answers kadm.AlterConfigsResponses
	switch {
	case e.topic != "":
		answers, err = admin.AlterTopicConfigs(ctx, changes, e.topic)
	case e.broker < 0:
		answers, err = admin.AlterBrokerConfigs(ctx, changes)
	default:
		answers, err = admin.AlterBrokerConfigs(ctx, changes, e.broker)
	}
	if err != nil {
		return fmt.Errorf("alter settings of %s: %s", e, plain(err))
	}
	for _, a := range answers {
		if a.Err != nil {
			return refused(fmt.Sprintf("alter settings of %s", e), a.Err, a.ErrMessage)
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Completed updating config for %s.\n", e)
	return err
}

// mustBeMade refuses to delete what the entity has not set, as kafka-configs
// does: the cluster itself would take it without a word, and a slip of the pen
// would look like success.
func mustBeMade(ctx context.Context, admin *cluster, e entity, changes []kadm.AlterConfig) error {
	var missing []string
	for _, c := range changes {
		if c.Op == kadm.DeleteConfig {
			missing = append(missing, c.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	settings, err := fetchSettings(ctx, admin, e, false)
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(name string) bool {
		return slices.ContainsFunc(settings, func(s setting) bool { return s.Name == name })
	})
	if len(missing) > 0 {
		return fmt.Errorf("invalid config(s): %s", strings.Join(missing, ","))
	}
	return nil
}

func (f *configsFlags) changes() ([]kadm.AlterConfig, error) {
	var changes []kadm.AlterConfig
	added, err := parseConfigList(f.add)
	if err != nil {
		return nil, err
	}
	for _, kv := range added {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: kv[0], Value: &kv[1]})
	}
	for key := range strings.SplitSeq(f.delete, ",") {
		if key = strings.TrimSpace(key); key != "" {
			changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: key})
		}
	}
	if len(changes) == 0 {
		return nil, errors.New("--alter needs --add-config or --delete-config")
	}
	return changes, nil
}

// parseConfigList reads key=value,key=[a,b]: commas inside brackets belong to
// the value.
func parseConfigList(list string) ([][2]string, error) {
	var settings [][2]string
	for list != "" {
		key, rest, ok := strings.Cut(list, "=")
		if key = strings.TrimSpace(key); !ok || key == "" || strings.Contains(key, ",") {
			return nil, fmt.Errorf("--add-config: %q is not of the form key=value", list)
		}
		var value string
		if inner, bracket := strings.CutPrefix(rest, "["); bracket {
			if value, rest, ok = strings.Cut(inner, "]"); !ok {
				return nil, fmt.Errorf("--add-config: the value of %s has no closing bracket", key)
			}
			list = strings.TrimPrefix(rest, ",")
		} else {
			value, list, _ = strings.Cut(rest, ",")
		}
		settings = append(settings, [2]string{key, value})
	}
	return settings, nil
}
