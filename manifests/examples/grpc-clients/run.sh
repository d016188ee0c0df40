#!/bin/bash
# Two control planes, two gRPC servers, one gRPC client that asks both; then one plane is killed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
state="$(mktemp -d)"
# The client calls 127.0.0.1 itself.
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY grpc_proxy
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$state"' EXIT

python3 echo.py serve east 50051 &
python3 echo.py serve west 50052 &

# Each plane also starts an Envoy, as always; the ports keep them apart.
contour run east --state-dir "$state/east" --map-port 80=18080 --map-port 443=18443 &
east=$!
contour run west --state-dir "$state/west" --map-port 80=28080 --map-port 443=28443 &
until [ -e "$state/east/ready" ] && [ -e "$state/west/ready" ]; do sleep 0.2; done

contour bootstrap --grpc --namespace shop \
  --authority "east.example=unix:$state/east/xds.sock" \
  --authority "west.example=unix:$state/west/xds.sock" "$state/grpc.json"

echo "--- a client of both planes"
GRPC_XDS_BOOTSTRAP="$state/grpc.json" \
  python3 echo.py call xds://east.example/echo.shop xds://west.example/echo.shop &
sleep "${SECONDS_EACH:-5}"

echo "--- plane east is killed: the client goes on with what it has"
kill -9 "$east"
sleep "${SECONDS_EACH:-5}"
