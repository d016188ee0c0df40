// An extension server as one writes it for Envoy Gateway, with its own generated types.
//
// It says its address as a line of JSON, then each question as it was understood. It modifies a
// little of everything it is asked about, or nothing with -unchanged. It ends with its standard
// input, so that it outlives no test.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync"

	pb "github.com/envoyproxy/gateway/proto/extension"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

type server struct {
	pb.UnimplementedEnvoyGatewayExtensionServer
	unchanged bool
	said      sync.Mutex
}

// What was asked, as these types read it.
type question struct {
	Hook       string   `json:"hook"`
	Name       string   `json:"name"`
	HasContext bool     `json:"has_context"`
	Hostnames  []string `json:"hostnames,omitempty"`
	Objects    []any    `json:"objects,omitempty"`
	Clusters   []string `json:"clusters,omitempty"`
	Secrets    []string `json:"secrets,omitempty"`
}

func (s *server) say(it any) {
	s.said.Lock()
	defer s.said.Unlock()
	line, err := json.Marshal(it)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

func (s *server) PostRouteModify(_ context.Context, r *pb.PostRouteModifyRequest) (*pb.PostRouteModifyResponse, error) {
	at := r.PostRouteContext
	asked := question{Hook: "Route", Name: r.Route.GetName(), HasContext: at != nil, Hostnames: at.GetHostnames()}
	for _, it := range at.GetExtensionResources() {
		var object any
		if err := json.Unmarshal(it.GetUnstructuredBytes(), &object); err != nil {
			return nil, err
		}
		asked.Objects = append(asked.Objects, object)
	}
	s.say(asked)
	if s.unchanged {
		return &pb.PostRouteModifyResponse{}, nil
	}
	for _, it := range at.GetExtensionResources() {
		r.Route.ResponseHeadersToAdd = append(r.Route.ResponseHeadersToAdd, &corev3.HeaderValueOption{
			Header: &corev3.HeaderValue{Key: "x-object", Value: fmt.Sprint(len(it.GetUnstructuredBytes()))},
		})
	}
	return &pb.PostRouteModifyResponse{Route: r.Route}, nil
}

func (s *server) PostVirtualHostModify(_ context.Context, r *pb.PostVirtualHostModifyRequest) (*pb.PostVirtualHostModifyResponse, error) {
	host := r.VirtualHost
	s.say(question{Hook: "VirtualHost", Name: host.GetName(), HasContext: r.PostVirtualHostContext != nil})
	if s.unchanged {
		return &pb.PostVirtualHostModifyResponse{}, nil
	}
	inner, err := structpb.NewStruct(map[string]any{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6})
	if err != nil {
		return nil, err
	}
	packed, err := anypb.New(inner) // in an order of Go's own, another one each time
	if err != nil {
		return nil, err
	}
	if host.TypedPerFilterConfig == nil {
		host.TypedPerFilterConfig = map[string]*anypb.Any{}
	}
	for _, it := range strings.Split("uvwxyz", "") {
		host.TypedPerFilterConfig[it] = packed
	}
	host.Routes = append(host.Routes, &routev3.Route{
		Name:  "inserted",
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: "/inserted"}},
		Action: &routev3.Route_DirectResponse{
			DirectResponse: &routev3.DirectResponseAction{Status: 200},
		},
	})
	return &pb.PostVirtualHostModifyResponse{VirtualHost: host}, nil
}

func (s *server) PostHTTPListenerModify(_ context.Context, r *pb.PostHTTPListenerModifyRequest) (*pb.PostHTTPListenerModifyResponse, error) {
	s.say(question{Hook: "HTTPListener", Name: r.Listener.GetName(), HasContext: r.PostListenerContext != nil})
	if s.unchanged {
		return &pb.PostHTTPListenerModifyResponse{}, nil
	}
	r.Listener.StatPrefix = "modified"
	return &pb.PostHTTPListenerModifyResponse{Listener: r.Listener}, nil
}

func (s *server) PostTranslateModify(_ context.Context, r *pb.PostTranslateModifyRequest) (*pb.PostTranslateModifyResponse, error) {
	asked := question{Hook: "Translation", HasContext: r.PostTranslateContext != nil}
	for _, it := range r.Clusters {
		asked.Clusters = append(asked.Clusters, it.GetName())
	}
	for _, it := range r.Secrets {
		asked.Secrets = append(asked.Secrets, it.GetName())
	}
	s.say(asked)
	reply := &pb.PostTranslateModifyResponse{Clusters: r.Clusters, Secrets: r.Secrets}
	if !s.unchanged {
		reply.Clusters = append(reply.Clusters, &clusterv3.Cluster{Name: "inserted"})
		reply.Secrets = append(reply.Secrets, &tlsv3.Secret{Name: "inserted"})
	}
	return reply, nil
}

func options(certificate, key, clients string) ([]grpc.ServerOption, error) {
	if certificate == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	how := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clients != "" {
		text, err := os.ReadFile(clients)
		if err != nil {
			return nil, err
		}
		how.ClientCAs, how.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !how.ClientCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("no certificate in " + clients)
		}
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(how))}, nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address, or unix:PATH")
	unchanged := flag.Bool("unchanged", false, "modify nothing")
	certificate := flag.String("certificate", "", "file of the certificate chain, PEM")
	key := flag.String("key", "", "file of the private key, PEM")
	clients := flag.String("client-authority", "", "file of the CA of clients, PEM")
	flag.Parse()
	network, address := "tcp", *listen
	if path, is := strings.CutPrefix(address, "unix:"); is {
		network, address = "unix", path
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		log.Fatal(err)
	}
	how, err := options(*certificate, *key, *clients)
	if err != nil {
		log.Fatal(err)
	}
	it := &server{unchanged: *unchanged}
	serving := grpc.NewServer(how...)
	pb.RegisterEnvoyGatewayExtensionServer(serving, it)
	it.say(map[string]string{"address": listener.Addr().String()})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		serving.Stop()
	}()
	if err := serving.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

