"""The chart, installed with Helm as docs/guides/install.md says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.commands import run

CHART = Path(__file__).parents[2] / "charts" / "plimsoll"
NAMESPACE = "plimsoll-system"
NAME = "plimsoll"


@dataclass(frozen=True, slots=True)
class Release:
    """The one installation of a cluster."""

    kubeconfig: Path
    image: str

    def install(self, values: Mapping[str, str] | None = None) -> str:
        """Install or change it, and wait until its replicas are ready; what Helm prints.

        `values` are what `--set` takes; what they do not name is as in values.yaml.
        """
        repository, _, tag = self.image.rpartition(":")
        given = {"image.repository": repository, "image.tag": tag, **(values or {})}
        return self._helm(
            *("upgrade", NAME, str(CHART), "--install", "--reset-values", "--create-namespace"),
            *("--wait", "--timeout=3m"),
            *(f"--set={name}={value}" for name, value in given.items()),
        )

    def uninstall(self) -> str:
        """Take it away, and wait until its pods are gone; what Helm prints."""
        return self._helm("uninstall", NAME, "--wait", "--timeout=3m")

    def _helm(self, *arguments: str) -> str:
        where = f"--namespace={NAMESPACE}", f"--kubeconfig={self.kubeconfig}"
        return run("helm", *arguments, *where)
