// JobSet's controllers and webhooks, as upstream's main starts them.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"

	"plimsoll.dev/hack/serving"
)

func main() {
	manager := serving.Manager(jobset.AddToScheme)
	ctx := ctrl.SetupSignalHandler()
	const failed = "it could not be set up"
	serving.Check(controllers.SetupJobSetIndexes(ctx, manager.GetFieldIndexer()), failed)
	serving.Check(controllers.SetupPodIndexes(ctx, manager.GetFieldIndexer()), failed)
	serving.Check(controllers.NewJobSetReconciler(
		manager.GetClient(), manager.GetScheme(), manager.GetEventRecorder("jobset"),
	).SetupWithManager(manager), failed)
	serving.Check(controllers.NewPodReconciler(
		manager.GetClient(), manager.GetScheme(), manager.GetEventRecorder("pod"),
	).SetupWithManager(manager), failed)
	serving.Check(webhooks.Setup(manager), failed)
	serving.Check(manager.Start(ctx), "the manager has ended")
}
