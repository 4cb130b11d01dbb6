// The controllers and webhooks of Kubeflow Trainer, as upstream's main starts them.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/config"
	"github.com/kubeflow/trainer/v2/pkg/controller"
	runtimecore "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/kubeflow/trainer/v2/pkg/webhooks"

	"plimsoll.dev/hack/serving"
)

func main() {
	manager := serving.Manager(
		configapi.AddToScheme,
		trainer.AddToScheme,
		jobset.AddToScheme,
		schedulerplugins.AddToScheme,
		volcano.AddToScheme,
	)
	ctx := ctrl.SetupSignalHandler()
	const failed = "it could not be set up"
	_, defaults, err := config.Load(manager.GetScheme(), "")
	serving.Check(err, failed)
	runtimes, err := runtimecore.New(
		ctx, manager.GetClient(), manager.GetFieldIndexer(), &defaults,
	)
	serving.Check(err, failed)
	name, err := controller.SetupControllers(manager, runtimes, ctrlcontroller.Options{})
	serving.Check(err, failed+": "+name)
	name, err = webhooks.Setup(manager, runtimes)
	serving.Check(err, failed+": "+name)
	serving.Check(manager.Start(ctx), "the manager has ended")
}
