module github.com/hashedwheel/hwt/durable/cmd/hwtdurable

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/hashedwheel/hwt v0.0.0
	github.com/hashedwheel/hwt/durable v0.0.0
	github.com/hashedwheel/hwt/durable/postgres v0.0.0
	github.com/hashedwheel/hwt/durable/sqlite v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/stretchr/testify v1.11.1
	golang.org/x/text v0.43.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/hashedwheel/hwt => ../../../
	github.com/hashedwheel/hwt/durable => ../../
	github.com/hashedwheel/hwt/durable/postgres => ../../postgres
	github.com/hashedwheel/hwt/durable/sqlite => ../../sqlite
)
