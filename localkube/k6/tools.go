//go:build tools

// Package tools names what is built here, so that go.mod and go.sum pin it and all that it needs.
package tools

import _ "go.k6.io/k6"
