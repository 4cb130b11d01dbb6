// Kubeflow's training operator, without what it does for its webhooks' certificate: that it makes
// itself, and waits for it in a folder that all processes of a machine share.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllerv1 "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/webhooks"

	"plimsoll.dev/hack/serving"
)

const threads = 1 // as upstream, by default

func main() {
	manager := serving.Manager(kubeflowv1.AddToScheme)
	serving.Check(setUp(manager), "it could not be set up")
	serving.Check(manager.Start(ctrl.SetupSignalHandler()), "the manager has ended")
}

// setUp registers upstream's own controllers and webhooks of all kinds, as upstream's main does.
func setUp(manager ctrl.Manager) error {
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault
	var schemes controllerv1.EnabledSchemes
	schemes.FillAll()
	for _, scheme := range schemes {
		reconcile := controllerv1.SupportedSchemeReconciler[scheme]
		if err := reconcile(manager, common.GenNonGangSchedulerSetupFunc(), threads); err != nil {
			return err
		}
		if err := webhooks.SupportedSchemeWebhook[scheme](manager); err != nil {
			return err
		}
	}
	return nil
}
