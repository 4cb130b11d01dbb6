"""A real Kubernetes control plane for tests, benchmarks and the demo, on any machine.

It is for development only: the wheel does not hold it.

- `programs`        where etcd, kube-apiserver and the others are found or come from
- `control_plane`   starts them and leaves nothing behind
- `prometheus_program`, `prometheus_server`  the same for Prometheus
- `cluster`         one cluster to work on: our own control plane, or one given on purpose
- `api_server`      a plain connection to an API server
- `fake_nodes`      KWOK nodes that carry GPUs
"""
