package main

// queues breaks the queue.
var queues = []mutant{
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "a second Close loses nothing",
		from: `	if q.Closed() {
		return false
	}
`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "a closed queue refuses",
		from: `			link.next = nil
			return false
`,
		to: `			link.next = nil
			return true
`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "what was pushed before Close is drained",
		from:   `return head == nil || head == &q.sentinel && q.takeLink.of(head).next == nil`,
		to:     `return head == nil || head == &q.sentinel`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "elements come in the order of their pushes",
		from:   `		q.takeLink.of(q.latest).next = first`,
		to:     `		q.takeLink.of(last).next, q.oldest, last = q.oldest, first, q.latest`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "an element that was popped keeps no other alive",
		from:   `	q.oldest, link.next = link.next, nil // e`,
		to:     `	q.oldest = link.next // e`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "a pruned element can be pushed again, and keeps no other alive",
		from: `			link.next = nil
			continue
`,
		to: `			continue
`,
	},
}
