"""An exporter of GPU metrics as NVIDIA's is, without GPUs: real HTTP, made-up values."""

from collections.abc import Generator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from plimsoll_devcluster.processes.prometheus_server import Scraped

SCRAPED = {"namespace": "gpu-operator"}
"""What Prometheus attaches to what it scrapes: where exporters run whose word counts."""
LABELS = ("Hostname", "gpu", "UUID", "err_code")


class GpuExporter:
    """The last XID of each GPU of some nodes; like the real one, the label `err_code` follows it.

    All nodes share one exporter, which `Hostname` makes up for.
    """

    def __init__(self, address: str, gauge: Gauge, of_late: Gauge) -> None:
        self.address = address
        self._gauge, self._of_late = gauge, of_late

    @property
    def scraped(self) -> Scraped:
        """The exporter as it is scraped where its word counts."""
        return Scraped(self.address, SCRAPED)

    def report(self, node: str, xid: float, *, gpu: int = 0) -> None:
        """Let the last XID of a GPU be this one."""
        uuid = f"GPU-{node}-{gpu}"
        for labels in [values for values in self._labels() if values[2] == uuid]:
            self._gauge.remove(*labels)
        self._gauge.labels(node, f"{gpu}", uuid, f"{xid:g}").set(xid)

    def report_recent(self, node: str, xid: str) -> None:
        """Let an XID, whatever is given for one, have come within the last minutes."""
        self._of_late.labels(node, "0", f"GPU-{node}-0", xid).set(1)

    def _labels(self) -> list[tuple[str, ...]]:
        samples = (s for family in self._gauge.collect() for s in family.samples)
        return [tuple(sample.labels[name] for name in LABELS) for sample in samples]


@contextmanager
def gpu_exporter() -> Generator[GpuExporter]:
    """Serve on loopback until the block ends."""
    registry = CollectorRegistry()
    gauge = Gauge("DCGM_FI_DEV_XID_ERRORS", "The last XID.", LABELS, registry=registry)
    labels = (*LABELS[:3], "xid")
    of_late = Gauge("DCGM_EXP_XID_ERRORS_COUNT", "XIDs of late.", labels, registry=registry)
    server, thread = start_http_server(0, "127.0.0.1", registry=registry)
    try:
        yield GpuExporter(f"127.0.0.1:{server.server_port}", gauge, of_late)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
