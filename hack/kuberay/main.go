// KubeRay, reduced to its controller of RayClusters. Upstream's main also starts those of RayJobs and
// RayServices, which need definitions of two megabytes, and a dashboard of Ray that answers.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"

	"plimsoll.dev/hack/serving"
)

const threads = 1 // as upstream, by default

func main() {
	manager := serving.Manager(rayv1.AddToScheme)
	ctx := ctrl.SetupSignalHandler()
	reconciler := ray.NewReconciler(ctx, manager, ray.RayClusterReconcilerOptions{})
	serving.Check(reconciler.SetupWithManager(manager, threads), "it could not be set up")
	serving.Check(manager.Start(ctx), "the manager has ended")
}
