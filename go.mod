module github.com/hashedwheel/hwt

go 1.26.0

require (
	github.com/Workiva/go-datastructures v1.1.7
	github.com/anishathalye/porcupine v1.3.1
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/stretchr/testify v1.11.1
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
