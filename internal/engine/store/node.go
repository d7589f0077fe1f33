package store

// Node is the part of a timeout that the store knows: where it is. The zero value is in
// no bucket.
type Node struct {
	chunk chunkID // 0 if the node is in no bucket
	entry uint8   // in the chunk; of a node in no bucket, its Spot

	// Stamp and Marks belong to the owner. They lie here to fill the node.
	Stamp uint8
	Marks uint16
}

// Spot says where a node is that is in no bucket. Its values belong to the owner. Buckets
// set the zero value when they remove a node.
type Spot uint8

// Stored reports whether the node is in a bucket.
func (n *Node) Stored() bool { return n.chunk != 0 }

// IsAt reports whether the node is at s, and in no bucket.
func (n *Node) IsAt(s Spot) bool { return n.chunk == 0 && n.entry == uint8(s) }

// MoveTo notes that the node, which is in no bucket, is at s.
func (n *Node) MoveTo(s Spot) { n.put(0, uint8(s)) }

func (n *Node) put(c chunkID, entry uint8) { n.chunk, n.entry = c, entry }
