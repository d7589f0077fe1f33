package sqlite

import (
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable/backend"
)

// bindAny binds an argument of the user.
func bindAny(s *sqlite3.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case nil:
		return s.BindNull(i)
	case bool:
		return s.BindBool(i, v)
	case int:
		return s.BindInt64(i, int64(v))
	case int64:
		return s.BindInt64(i, v)
	case float64:
		return s.BindFloat(i, v)
	case string:
		return s.BindText(i, v)
	case []byte:
		return s.BindBlob(i, v)
	case time.Time:
		return s.BindTime(i, v, sqlite3.TimeFormatDefault)
	}
	return fmt.Errorf("%w: argument %d of type %T (expected: nil, bool, int, int64, float64, string, []byte, or time.Time)",
		backend.ErrInvalid, i, arg)
}
