#include "textflag.h"

// func prefetch(task hwt.TimerTask)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVD task_data+8(FP), R0
	PRFM (R0), PLDL1KEEP
	RET
