// KubeRay, reduced to its controller of RayClusters. Upstream's main also starts those of RayJobs and
// RayServices, which need definitions of two megabytes, and a dashboard of Ray that answers.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
)

const threads = 1 // as upstream, by default

var log = ctrl.Log.WithName("setup")

func main() {
	probes := flag.String("health-probe-bind-address", "127.0.0.1:8082", "where it serves probes")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))

	client := ctrl.GetConfigOrDie()
	client.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	manager, err := ctrl.NewManager(client, ctrl.Options{
		Scheme:                 kinds(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: *probes,
	})
	check(err, "no manager")
	ctx := ctrl.SetupSignalHandler()
	reconciler := ray.NewReconciler(ctx, manager, ray.RayClusterReconcilerOptions{})
	check(reconciler.SetupWithManager(manager, threads), "it could not be set up")
	check(manager.AddReadyzCheck("readyz", healthz.Ping), "it could not be set up")
	check(manager.Start(ctx), "the manager has ended")
}

func kinds() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(rayv1.AddToScheme(scheme))
	return scheme
}

func check(err error, what string) {
	if err != nil {
		log.Error(err, what)
		os.Exit(1)
	}
}
