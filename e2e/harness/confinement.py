"""What a process may do in its container, as it is from within."""

import json

from harness.real_cluster import RealCluster
from harness.release import NAMESPACE
from plimsoll_devcluster.manifest import Manifest

_SEEN_FROM_WITHIN = """
import json, os, pathlib
status = dict(line.split(":\\t", 1) for line in open("/proc/1/status") if ":\\t" in line)
def writes(folder):
    try:
        pathlib.Path(folder, "probe").touch()
    except OSError:
        return False
    return True
print(json.dumps({
    "user": os.getuid(),
    "capabilities": int(status["CapEff"], 16),
    "seccomp": int(status["Seccomp"]),
    "may gain": status["NoNewPrivs"].strip() == "0",
    "writes": [f for f in ("/", "/tmp", "/opt/plimsoll", "/home") if writes(f)],
}))
"""

NOBODY: Manifest = {
    "user": 65532,
    "capabilities": 0,
    "seccomp": 2,  # filtered
    "may gain": False,
    "writes": [],
}
"""What is seen where nothing is allowed."""


def seen_from_within(cluster: RealCluster, pod: Manifest) -> Manifest:
    """Who a pod of the release runs as, and what it may do."""
    inside = ("exec", pod["metadata"]["name"], f"--namespace={NAMESPACE}", "--")
    return json.loads(cluster.kubectl(*inside, "python3", "-c", _SEEN_FROM_WITHIN))
