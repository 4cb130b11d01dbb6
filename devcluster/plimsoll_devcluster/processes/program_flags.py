"""The command lines of the control plane's programs."""

from dataclasses import dataclass
from pathlib import Path

STAGES = Path(__file__).with_name("stages.yaml")
AUDIT_POLICY = Path(__file__).with_name("audit_policy.yaml")
NOWHERE = "http://localhost:1"  # etcd demands addresses that a cluster of one never uses
# Heaps are small here and processors few: collect less often, unless they do get large.
ENVIRONMENT = {"GOGC": "400", "GOMEMLIMIT": "4GiB"}
PROGRAMS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kwok",
)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one control plane: its programs, its folder, its port."""

    programs: Path
    folder: Path
    port: int
    service_account_admission: bool
    taints_new_nodes: bool
    audit: bool

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder / "logs"

    @property
    def audit_log(self) -> Path:
        """Where the API server notes every write, if it is to."""
        return self.logs / "audit.jsonl"

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.folder / "kubeconfig"

    @property
    def tokens(self) -> Path:
        """The API server's token file."""
        return self.folder / "tokens.csv"

    @property
    def service_account_key(self) -> Path:
        """The key that signs and checks service account tokens."""
        return self.folder / "service-account.key"

    @property
    def certificates(self) -> Path:
        """Where the API server writes the certificate that it makes for itself."""
        return self.folder / "certificates"

    @property
    def serving_certificate(self) -> Path:
        """The certificate, followed by that of the authority which signed it."""
        return self.certificates / "apiserver.crt"

    @property
    def etcd_url(self) -> str:
        """A socket and no port: nobody else on the machine can reach it."""
        return f"unix://{self.folder}/etcd.sock"


def command(program: str, place: Place) -> list[str]:
    """Return the command line of a program."""
    flags = {
        "etcd": _etcd,
        "kube-apiserver": _api_server,
        "kube-controller-manager": _controller_manager,
        "kube-scheduler": _scheduler,
        "kwok": _kwok,
    }[program](place)
    return [str(place.programs / program), *(f"--{name}={value}" for name, value in flags.items())]


def _etcd(place: Place) -> dict[str, object]:
    return {
        "data-dir": place.folder / "etcd",
        "listen-client-urls": place.etcd_url,
        "advertise-client-urls": NOWHERE,
        "listen-peer-urls": f"unix://{place.folder}/peer.sock",
        "initial-advertise-peer-urls": NOWHERE,
        "initial-cluster": f"default={NOWHERE}",
        "unsafe-no-fsync": "true",  # a crash of the machine may lose it; it is thrown away anyway
        "quota-backend-bytes": 8 * 2**30,
        "log-level": "warn",
    }


def _api_server(place: Place) -> dict[str, object]:
    flags: dict[str, object] = {
        "etcd-servers": place.etcd_url,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",  # finding one by itself requires a network
        "endpoint-reconciler-type": "none",  # and Endpoints may not contain loopback
        "secure-port": place.port,
        "permit-port-sharing": "true",
        "cert-dir": place.certificates,
        "token-auth-file": place.tokens,
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": place.service_account_key,
        "service-account-signing-key-file": place.service_account_key,
        "service-cluster-ip-range": "10.0.0.0/16",
        "max-requests-inflight": 2000,
        "max-mutating-requests-inflight": 1000,
        # PodGroups are alpha. Who has none is none the wiser.
        "runtime-config": "scheduling.k8s.io/v1alpha2=true",
        "feature-gates": "GenericWorkload=true",
    }
    if place.audit:
        flags["audit-policy-file"] = AUDIT_POLICY
        flags["audit-log-path"] = place.audit_log
    unwanted = {
        "ServiceAccount": not place.service_account_admission,
        "TaintNodesByCondition": not place.taints_new_nodes,
    }
    if any(unwanted.values()):
        flags["disable-admission-plugins"] = ",".join(name for name in unwanted if unwanted[name])
    return flags


def _controller_manager(place: Place) -> dict[str, object]:
    return {
        **_client(place),
        "node-monitor-grace-period": "24h",  # nodes have no leases
        "root-ca-file": place.serving_certificate,
        "service-account-private-key-file": place.service_account_key,
        # Comparisons with an HPA here cannot take hours, and 15 s would be long.
        "horizontal-pod-autoscaler-sync-period": "1s",
        "feature-gates": "GenericWorkload=true",  # lets go of PodGroups once their pods have ended
    }


def _scheduler(place: Place) -> dict[str, object]:
    return {**_client(place), "feature-gates": "GenericWorkload=true,GangScheduling=true"}


def _client(place: Place) -> dict[str, object]:
    return {
        "kubeconfig": place.kubeconfig,
        "kube-api-qps": 2000,
        "kube-api-burst": 4000,
        "leader-elect": "false",
        "secure-port": 0,
    }


def _kwok(place: Place) -> dict[str, object]:
    return {
        "kubeconfig": place.kubeconfig,
        "config": STAGES,
        "manage-nodes-with-annotation-selector": "kwok.x-k8s.io/node=fake",
    }
