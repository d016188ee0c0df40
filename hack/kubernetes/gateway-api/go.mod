module contour-ingress/hack/kubernetes/gateway-api

go 1.25.0

// The tests take the CRDs of the Gateway API from it.
require sigs.k8s.io/gateway-api v1.6.1
