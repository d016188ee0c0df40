"""The manifests that the request-level tests run with; every host belongs to one test."""

SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: one}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: one, labels: {kubernetes.io/service-name: one}}
addressType: IPv4
ports: [{name: http, port: %(one)d}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: v1
kind: Service
metadata: {name: two}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: two, labels: {kubernetes.io/service-name: two}}
addressType: IPv4
ports: [{name: http, port: %(two)d}]
endpoints: [{addresses: [127.0.0.1]}]
---
# No endpoints: not ready, or gone.
apiVersion: v1
kind: Service
metadata: {name: asleep}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: far, namespace: elsewhere}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: far, namespace: elsewhere, labels: {kubernetes.io/service-name: far}}
addressType: IPv4
ports: [{name: http, port: %(two)d}]
endpoints: [{addresses: [127.0.0.1]}]
"""

INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: paths}
spec:
  rules:
  - host: ingress.example.com
    http:
      paths:
      - {path: /exact, pathType: Exact, backend: {service: {name: two, port: {number: 80}}}}
      - {path: /segments, pathType: Prefix, backend: {service: {name: two, port: {name: http}}}}
      - {path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}
  - host: "*.ingress.example.com"
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: two, port: {number: 80}}}}
"""

HTTPPROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: conditions}
spec:
  virtualhost: {fqdn: conditions.example.com}
  routes:
  - conditions: [{prefix: /}]
    services: [{name: one, port: 80}]
  - conditions: [{exact: /exact}]
    services: [{name: two, port: 80}]
  - conditions: [{regex: "/[0-9]+/items"}]
    services: [{name: two, port: 80}]
  - conditions: [{prefix: /}, {header: {name: x-beta, exact: "yes"}}]
    services: [{name: two, port: 80}]
  - conditions: [{prefix: /}, {queryParameter: {name: beta, exact: "yes"}}]
    services: [{name: two, port: 80}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: changes}
spec:
  virtualhost: {fqdn: changes.example.com}
  routes:
  - conditions: [{prefix: /old}]
    pathRewritePolicy: {replacePrefix: [{replacement: /new}]}
    requestHeadersPolicy: {set: [{name: x-added, value: "100%% pure"}], remove: [x-secret]}
    responseHeadersPolicy: {set: [{name: x-answered, value: proxy}]}
    services: [{name: one, port: 80}]
  - conditions: [{prefix: /moved}]
    requestRedirectPolicy: {hostname: new.example.com, path: /here, statusCode: 302}
  - conditions: [{prefix: /teapot}]
    directResponsePolicy: {statusCode: 418, body: short and stout}
  - conditions: [{prefix: /slow}]
    timeoutPolicy: {response: 200ms}
    services: [{name: one, port: 80}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: broken}
spec:
  virtualhost: {fqdn: broken.example.com}
  routes:
  - services: [{name: one, port: 80}]
  - conditions: [{prefix: /asleep}]
    services: [{name: asleep, port: 80}]
  - conditions: [{prefix: /missing}]
    services: [{name: nowhere, port: 80}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: secure}
spec:
  virtualhost: {fqdn: secure.example.com, tls: {secretName: secure}}
  routes:
  - services: [{name: one, port: 80}]
  - conditions: [{prefix: /open}]
    permitInsecure: true
    services: [{name: two, port: 80}]
"""

GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, protocol: HTTP, port: 80}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: matches}
spec:
  parentRefs: [{name: web}]
  hostnames: [routes.example.com]
  rules:
  - backendRefs: [{name: one, port: 80}]
  - matches: [{method: POST}, {headers: [{name: x-beta, value: "yes"}]}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{path: {value: /old}}]
    filters:
    - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}
    - {type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: x-added, value: route}]}}
    - type: ResponseHeaderModifier
      responseHeaderModifier: {set: [{name: x-answered, value: route}]}
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {value: /moved}}]
    filters:
    - {type: RequestRedirect, requestRedirect: {hostname: new.example.com, statusCode: 301}}
  - matches: [{path: {value: /nowhere}}]
    backendRefs: [{name: nowhere, port: 80}]
  - matches: [{path: {value: /granted}}]
    backendRefs: [{name: far, namespace: elsewhere, port: 80}]
  - matches: [{path: {value: /refused}}]
    backendRefs: [{name: other, namespace: elsewhere, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: far, namespace: elsewhere}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}]
  to: [{group: "", kind: Service, name: far}]
"""

LAYERS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: layers}
spec:
  rules:
  - host: layers.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}
      - {path: /proxy, pathType: Exact, backend: {service: {name: one, port: {number: 80}}}}
      - {path: /route, pathType: Exact, backend: {service: {name: one, port: {number: 80}}}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: layers}
spec:
  virtualhost: {fqdn: layers.example.com}
  routes:
  - conditions: [{exact: /proxy}]
    services: [{name: two, port: 80}]
  - conditions: [{exact: /route}]
    services: [{name: asleep, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: layers}
spec:
  parentRefs: [{name: web}]
  hostnames: [layers.example.com]
  rules:
  - matches: [{path: {type: Exact, value: /route}}]
    backendRefs: [{name: two, port: 80}]
"""

LIVE = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: live}
spec:
  virtualhost: {fqdn: live.example.com}
  routes:
  - services: [{name: one, port: 80}]
"""
