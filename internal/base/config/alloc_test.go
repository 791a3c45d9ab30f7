package config

import (
	"strings"
	"testing"
)

// A controller checks every list of a topic at each change of the topic, and each
// broker does so once more.
func TestCheckingAListAllocatesNothing(t *testing.T) {
	f := func(key, value string) {
		t.Helper()
		got := testing.AllocsPerRun(100, func() {
			if err := CheckTopicConfig(key, value); err != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("a check of %s allocates %v times", key, got)
		}
	}
	f("leader.replication.throttled.replicas", strings.Repeat("101:100, ", 24)+"2147483647:1")
	f("cleanup.policy", "compact, delete")
}

// Numbers of a throttled replica go from 0 to 2^31-1 and are nothing but digits.
func TestThrottledReplicas(t *testing.T) {
	f := func(value string, good bool) {
		t.Helper()
		if err := CheckTopicConfig("leader.replication.throttled.replicas", value); (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
	}
	f("", true)
	f("*", true)
	f(" 0:1 , 007:2147483647 ", true)
	f("1:2147483648", false)
	f("1:99999999999999999999", false)
	f("+1:2", false)
	f("1:", false)
	f(":1", false)
	f("1:2,", false)
	f("1:2,*", false)
	f("1_0:2", false)
	f("1", false)
	f("1:2:3", false)
	f("1,2:3", false)
	f(",1:2", false)
	f("1:2,,3:4", false)
	f("0:000000001,1:0000000002147483647", true)
	f("1:1000000000,2:9999999999", false)
}

func BenchmarkCheckThrottledReplicas(b *testing.B) {
	value := strings.Repeat("101:100,", 24) + "100:9999"
	b.ReportAllocs()
	for b.Loop() {
		if err := CheckTopicConfig("leader.replication.throttled.replicas", value); err != nil {
			b.Fatal(err)
		}
	}
}
