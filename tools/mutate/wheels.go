package main

// wheels breaks the two wheels.
var wheels = []mutant{
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "the worker comes for what is added",
		from:   `	w.next = min(w.next, next)`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "a bucket knows its next tick",
		from:   ` || next < w.nextOf(i, turn) {`,
		to:     ` || next > w.nextOf(i, turn) {`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract|Reach",
		breaks: "what is beyond the reach of nexts is come for in between",
		from:   `	next := min(tick, turn+maxAhead<<w.shift)`,
		to:     `	next := tick`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "the search looks no further than it reaches, and comes again",
		from:   `		earliest = min(earliest, w.tick+1+int64(w.reach))`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "an emptied wheel wakes no worker",
		from:   ` || w.buckets.Count() == 0`,
		to:     ``,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Filed|Reach|Current",
		breaks: "a level takes what it reaches, and no more",
		from:   `if l := &w.levels[i]; tick < l.limit {`,
		to:     `if l := &w.levels[i]; tick <= l.limit {`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Filed|Reach|Current",
		breaks: "a level reaches one turn ahead, and no further",
		from:   `{ return (w.tick/unit + w.size) * unit }`,
		to:     `{ return (w.tick/unit + w.size + 1) * unit }`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Wheel|Contract|Cascade",
		breaks: "a bucket is due at the first tick of its span",
		from:   `l.first + uint32(i), n * l.unit}, l.unit`,
		to:     `l.first + uint32(i), tick}, l.unit`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Bucket|Split",
		breaks: "a bucket that was emptied counts nothing",
		from:   `		w.counts[b.Value.index] = 0`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Wheel|Contract|Cascade|Many|Crowd",
		breaks: "a cancelled timeout leaves an empty bucket, for which no worker wakes",
		from:   `func (w *wheel) Remove(t *engine.Timeout) { w.counts[w.set.Remove(t)]-- }`,
		to:     `func (w *wheel) Remove(t *engine.Timeout) { w.set.Remove(t) }`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Wheel|Contract|Cascade",
		breaks: "a bucket waits in the delay queue once something is in it",
		from:   `	if w.counts[p.index]++; w.counts[p.index] == 1 {`,
		to:     `	if w.counts[p.index]++; w.counts[p.index] == 2 {`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Bucket",
		breaks: "to look for a bucket makes no sub-wheel",
		from:   `		return w.descend(l, tick, false).index, true`,
		to:     `		return w.descend(l, tick, true).index, true`,
	},
	{
		file: "hierarchical/bucket.go", tests: hierarchical, run: "Bucket|Split",
		breaks: "a sub-wheel in use is not used again",
		from:   `if s.detached && s.queued == 0 {`,
		to:     `if s.queued == 0 {`,
	},
	{
		file: "hierarchical/internal/delayqueue/queue.go", tests: []string{"./hierarchical/internal/delayqueue"},
		breaks: "nothing comes before its time",
		from:   `if head == nil || head.due > now {`,
		to:     `if head == nil || head.due > now+1 {`,
	},
}
