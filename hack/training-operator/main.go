// Kubeflow's training operator, without what it does for its webhooks' certificate: that it makes
// itself, and waits for it in a folder that all processes of a machine share. This one serves with
// the certificate that it is given.
package main

import (
	"crypto/tls"
	"flag"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllerv1 "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/webhooks"
)

const threads = 1 // as upstream, by default

var log = ctrl.Log.WithName("setup")

func main() {
	probes := flag.String("health-probe-bind-address", "127.0.0.1:8081", "where it serves probes")
	port := flag.Int("webhook-server-port", 9443, "where it serves webhooks")
	certificate := flag.String("webhook-cert-dir", "", "holds tls.crt and tls.key")
	var schemes controllerv1.EnabledSchemes
	flag.Var(&schemes, "enable-scheme", "a kind to reconcile; may be repeated; by default, all")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))

	client := ctrl.GetConfigOrDie()
	client.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	manager, err := ctrl.NewManager(client, ctrl.Options{
		Scheme:                 kinds(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: *probes,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: "127.0.0.1", Port: *port, TLSOpts: []func(*tls.Config){serveWith(*certificate)},
		}),
	})
	check(err, "no manager")
	check(setUp(manager, schemes), "it could not be set up")
	check(manager.Start(ctrl.SetupSignalHandler()), "the manager has ended")
}

// serveWith has the certificate of a folder read once. Left to itself, the server also watches its
// files, and ends where the machine has no inotify instance left for that.
func serveWith(folder string) func(*tls.Config) {
	files := filepath.Join(folder, "tls")
	certificate, err := tls.LoadX509KeyPair(files+".crt", files+".key")
	check(err, "no certificate")
	return func(config *tls.Config) {
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &certificate, nil
		}
	}
}

func kinds() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kubeflowv1.AddToScheme(scheme))
	return scheme
}

// setUp registers upstream's own controllers and webhooks, as upstream's main does.
func setUp(manager ctrl.Manager, schemes controllerv1.EnabledSchemes) error {
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault
	if schemes.Empty() {
		schemes.FillAll()
	}
	for _, scheme := range schemes {
		reconcile := controllerv1.SupportedSchemeReconciler[scheme]
		if err := reconcile(manager, common.GenNonGangSchedulerSetupFunc(), threads); err != nil {
			return err
		}
		if err := webhooks.SupportedSchemeWebhook[scheme](manager); err != nil {
			return err
		}
	}
	return manager.AddReadyzCheck("readyz", func(request *http.Request) error {
		return manager.GetWebhookServer().StartedChecker()(request)
	})
}

func check(err error, what string) {
	if err != nil {
		log.Error(err, what)
		os.Exit(1)
	}
}
