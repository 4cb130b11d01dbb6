// Command control-plane is every program of a Kubernetes control plane in one
// binary: etcd, the API server, the controller manager, the scheduler, kubectl
// and KWOK. The name that it is called by (a link to it) says which one runs.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func runServer(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func runKubectl() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func main() {
	programs := map[string]func(){
		"etcd":                    func() { etcdmain.Main(os.Args) },
		"kube-apiserver":          runServer(apiserver.NewAPIServerCommand),
		"kube-controller-manager": runServer(controllers.NewControllerManagerCommand),
		"kube-scheduler":          runServer(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"kubectl":                 runKubectl,
		"kwok":                    runKwok,
	}
	run, known := programs[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintf(os.Stderr, "control-plane: call it by the name of one of its programs, not %q\n", os.Args[0])
		os.Exit(2)
	}
	run()
}
