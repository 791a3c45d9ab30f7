package batch

import "testing"

func BenchmarkValidateProduce(b *testing.B) {
	for _, c := range codecs {
		b.Run(c.String(), func(b *testing.B) {
			in := build(Options{Codec: c}, 1000)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ValidateProduce(in, plain); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHeaderWalk(b *testing.B) {
	in := make([]byte, 0, 1<<20)
	for range 1000 {
		in = append(in, build(Options{}, 1)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		for range All(in) {
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, c := range codecs {
		b.Run(c.String(), func(b *testing.B) {
			w, value, dst := NewBuilder(Options{}), make([]byte, 100), []byte(nil)
			b.ReportAllocs()
			for b.Loop() {
				w.Reset(Options{Codec: c})
				for range 100 {
					w.Add(1, nil, value)
				}
				dst = w.Build(dst[:0])
			}
		})
	}
}
