// Package suite is the conformance suite of the Gateway API, as a program: `go test -c`.
package suite

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

// TestConformance runs what its flags ask for.
func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
