module github.com/hashedwheel/hwt/durable/sqlite

go 1.26.0

require (
	github.com/hashedwheel/hwt v0.0.0
	github.com/hashedwheel/hwt/durable v0.0.0
	github.com/ncruces/go-sqlite3 v0.37.0
	github.com/stretchr/testify v1.11.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/hashedwheel/hwt => ../../
	github.com/hashedwheel/hwt/durable => ../
)
