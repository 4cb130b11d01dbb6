// Package serving makes the manager of a controller as tests run it: on loopback, without metrics and
// leader election, and with the certificate that it is given for its webhooks.
//
// Upstream's mains also watch the files of that certificate, and end where the machine has no inotify
// instance left for that.
package serving

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
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

var log = ctrl.Log.WithName("setup")

// Manager reads the flags, and makes a manager that knows the given kinds beside Kubernetes' own. It
// serves webhooks if a certificate is given.
func Manager(kinds ...func(*runtime.Scheme) error) ctrl.Manager {
	probes := flag.String("health-probe-bind-address", "127.0.0.1:8081", "where it serves probes")
	port := flag.Int("webhook-server-port", 9443, "where it serves webhooks")
	certificate := flag.String("webhook-cert-dir", "", "holds tls.crt and tls.key")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))

	scheme := runtime.NewScheme()
	for _, add := range append(kinds, clientgoscheme.AddToScheme) {
		utilruntime.Must(add(scheme))
	}
	client := ctrl.GetConfigOrDie()
	client.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	options := ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: *probes,
	}
	if *certificate != "" {
		options.WebhookServer = webhook.NewServer(webhook.Options{
			Host: "127.0.0.1", Port: *port, TLSOpts: []func(*tls.Config){with(*certificate)},
		})
	}
	manager, err := ctrl.NewManager(client, options)
	Check(err, "no manager")
	Check(manager.AddReadyzCheck("readyz", readiness(manager, options)), "no probes")
	return manager
}

// readiness is whether the webhooks are served, if there are any.
func readiness(manager ctrl.Manager, options ctrl.Options) healthz.Checker {
	if options.WebhookServer == nil {
		return healthz.Ping
	}
	return func(request *http.Request) error {
		return manager.GetWebhookServer().StartedChecker()(request)
	}
}

func with(folder string) func(*tls.Config) {
	files := filepath.Join(folder, "tls")
	certificate, err := tls.LoadX509KeyPair(files+".crt", files+".key")
	Check(err, "no certificate")
	return func(config *tls.Config) {
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &certificate, nil
		}
	}
}

// Check ends the program where there is an error.
func Check(err error, what string) {
	if err != nil {
		log.Error(err, what)
		os.Exit(1)
	}
}
