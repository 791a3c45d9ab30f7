package dirs

import (
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/edge/storage"
)

// figures are what the directories and their logs count.
type figures struct {
	logs    storage.Metrics
	cleaner cleanerFigures
	// lookedMs is when compaction last looked for something to do, in
	// milliseconds since 1970; 0: never.
	lookedMs atomic.Int64
	// scrubs are of the directories, in their order.
	scrubs []scrubFigures
	uses   uses
}

// cleanerFigures are what compaction counts.
type cleanerFigures struct {
	Time      metrics.Timing `name:"ottla_log_compaction_timems" help:"Time that the compaction of a log took, in milliseconds."`
	Reclaimed metrics.Count  `name:"ottla_log_compaction_reclaimed_bytes_total" help:"Bytes that compaction has made free."`
}

// compacted counts one compaction.
func (f *figures) compacted(took time.Duration, before, after int64) {
	f.cleaner.Time.Saw(took)
	f.cleaner.Reclaimed.Add(int(max(before-after, 0)))
}

// Register shows what there is to tell about the log directories, under the
// names of Kafka's LogManager, LogFlushStats and LogCleanerManager.
func (d *Dirs) Register(r *metrics.Registry) {
	r.Register(&d.figures.logs)
	r.Register(&d.figures.cleaner)
	metrics.Watch(r, d.Describe,
		metrics.Reading[[]Info]{
			Name: "kafka_log_logmanager_offlinelogdirectorycount", Help: "Log directories that have failed. Alert above 0.",
			One: func(list []Info) (n float64) {
				for _, dir := range list {
					n += offline(dir)
				}
				return n
			},
		},
		perDir("kafka_log_logmanager_logdirectoryoffline", "1 when the directory has failed.", offline),
		metrics.Reading[[]Info]{
			Name: "kafka_log_logmanager_cordonedlogdirectorycount", Help: "Log directories that take no new replicas.",
			One: func(list []Info) (n float64) {
				for _, dir := range list {
					n += cordoned(dir)
				}
				return n
			},
		},
		perDir("kafka_log_logmanager_logdirectorycordoned", "1 when the directory takes no new replicas.", cordoned),
		perDir("ottla_log_directory_volume_bytes", "Size of the directory's volume; -1: not known.", func(i Info) float64 { return float64(i.Total) }),
		perDir("ottla_log_directory_usable_bytes", "Free bytes of the directory's volume; -1: not known.", func(i Info) float64 { return float64(i.Usable) }),
		perDir("ottla_log_directory_logs_bytes", "Bytes of segments in the directory.", func(i Info) (sum float64) {
			for _, l := range i.Logs {
				sum += float64(l.Size())
			}
			return sum
		}),
		perDir("ottla_log_directory_logs", "Logs in the directory.", func(i Info) float64 { return float64(len(i.Logs)) }),
	)
	metrics.Watch(r, func() *Dirs { return d }, perOperation()...)
	metrics.Watch(r, func() *Dirs { return d },
		metrics.Reading[*Dirs]{
			Name: "kafka_log_logcleanermanager_time_since_last_run_ms", One: (*Dirs).sinceCleaning,
			Help: "How long ago compaction last looked for something to do; -1: not since the start.",
		},
		metrics.Reading[*Dirs]{
			Name: "kafka_log_logcleanermanager_uncleanable_partitions_count", Labels: "logDirectory",
			Help: "Logs that compaction cannot read and leaves as they are. Alert above 0.",
			Each: func(d *Dirs, report metrics.Report) {
				for _, dir := range d.directories() {
					report(dir.unreadable.Value(), dir.path)
				}
			},
		},
		perScrub(metrics.Counter, "ottla_log_directory_scrubbed_bytes_total", "Bytes of old segments that were read to look for damage.",
			func(f *scrubFigures) float64 { return f.read.Value() }),
		perScrub(metrics.Counter, "ottla_log_directory_damage_found_total", "Damaged places that were found in old segments.",
			func(f *scrubFigures) float64 { return f.found.Value() }),
		perScrub(metrics.Counter, "ottla_log_directory_damage_mended_total", "Damaged places that were mended with what another replica holds.",
			func(f *scrubFigures) float64 { return f.mended.Value() }),
		perScrub(metrics.Gauge, "ottla_log_directory_damage", "Damaged places that could not be mended. Alert above 0.",
			func(f *scrubFigures) float64 { return f.left.Value() }),
	)
}

func (d *Dirs) sinceCleaning() float64 {
	at := d.figures.lookedMs.Load()
	if at == 0 {
		return -1
	}
	return float64(time.Now().UnixMilli() - at)
}

func offline(i Info) float64 {
	if i.Err != nil {
		return 1
	}
	return 0
}

func cordoned(i Info) float64 {
	if i.Cordoned {
		return 1
	}
	return 0
}

func perDir(name, help string, value func(Info) float64) metrics.Reading[[]Info] {
	return metrics.Reading[[]Info]{Name: name, Help: help, Labels: "logDirectory", Each: func(list []Info, report metrics.Report) {
		for _, dir := range list {
			report(value(dir), dir.Path)
		}
	}}
}

// perScrub is perDir for what looking for damage counts.
func perScrub(kind metrics.Kind, name, help string, value func(*scrubFigures) float64) metrics.Reading[*Dirs] {
	return metrics.Reading[*Dirs]{Name: name, Help: help, Kind: kind, Labels: "logDirectory", Each: func(d *Dirs, report metrics.Report) {
		for i, dir := range d.directories() {
			report(value(&d.figures.scrubs[i]), dir.path)
		}
	}}
}
