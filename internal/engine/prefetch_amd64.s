#include "textflag.h"

// func prefetch(task hwt.TimerTask)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ task_data+8(FP), AX
	PREFETCHT0 (AX)
	RET
