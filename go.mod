module github.com/hashedwheel/hwt

go 1.25.0

require (
	github.com/Workiva/go-datastructures v1.1.7
	github.com/anishathalye/porcupine v1.3.1
	github.com/mattn/go-shellwords v1.0.16
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/robfig/cron/v3 v3.0.1
	github.com/stretchr/testify v1.11.1
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/sys v0.46.0 // indirect
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.10
	golang.org/x/term v0.44.0
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
