// AppWrapper's controller, without what it does for its webhooks' certificate: that it makes itself, and
// keeps in a folder that all processes of a machine share.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	awv1beta2 "github.com/project-codeflare/appwrapper/api/v1beta2"
	"github.com/project-codeflare/appwrapper/pkg/config"
	"github.com/project-codeflare/appwrapper/pkg/controller"

	"plimsoll.dev/hack/serving"
)

func main() {
	manager := serving.Manager(awv1beta2.AddToScheme)
	settings := config.NewAppWrapperConfig() // as upstream, by default
	serving.Check(controller.SetupWebhooks(manager, settings), "its webhooks could not be set up")
	serving.Check(controller.SetupControllers(manager, settings), "it could not be set up")
	serving.Check(manager.Start(ctrl.SetupSignalHandler()), "the manager has ended")
}
