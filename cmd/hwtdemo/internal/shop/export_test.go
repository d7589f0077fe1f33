package shop

import "unsafe"

// OrderSize is the memory of one order.
const OrderSize = unsafe.Sizeof(order{})
