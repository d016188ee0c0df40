// One binary that is etcd, kube-apiserver or kube-controller-manager, by its first argument: they
// share most of their packages, so one link is faster and smaller than three. For the tests and
// hack/cluster, which need a real control plane on machines without a container runtime.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		refuse("which?")
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllers.NewControllerManagerCommand())
	default:
		refuse("unknown: " + name)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func refuse(why string) {
	fmt.Fprintln(os.Stderr, why+" (etcd, kube-apiserver or kube-controller-manager)")
	os.Exit(2)
}
