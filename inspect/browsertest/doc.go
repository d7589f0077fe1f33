// Package browsertest drives the page of package inspect in a headless Chromium.
package browsertest
