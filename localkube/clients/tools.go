//go:build tools

// Package tools names what is built here, so that go.mod and go.sum pin it and all that it needs.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/rancher/local-path-provisioner"
	_ "helm.sh/helm/v3/cmd/helm"
)
