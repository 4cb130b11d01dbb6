// KubeRay, reduced to its controllers of RayClusters and RayJobs. Upstream's main also starts that of
// RayServices, which needs another definition of a megabyte, and a Ray that serves.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"

	"plimsoll.dev/hack/serving"
)

const threads = 1 // as upstream, by default

func main() {
	manager := serving.Manager(rayv1.AddToScheme)
	ctx := ctrl.SetupSignalHandler()
	clusters := ray.NewReconciler(ctx, manager, ray.RayClusterReconcilerOptions{})
	serving.Check(clusters.SetupWithManager(manager, threads), "that of RayClusters could not be set up")
	jobs := ray.NewRayJobReconciler(ctx, manager, ray.RayJobReconcilerOptions{}, configv1alpha1.Configuration{})
	serving.Check(jobs.SetupWithManager(manager, threads), "that of RayJobs could not be set up")
	serving.Check(manager.Start(ctx), "the manager has ended")
}
