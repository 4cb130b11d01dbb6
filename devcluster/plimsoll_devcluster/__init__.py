"""A real Kubernetes control plane for tests, benchmarks and the demo, on any machine.

It is for development only: the wheel does not contain it.

- `programs`     finds or provides etcd, kube-apiserver and the others, and Prometheus
- `processes`    starts them, and the operator, and leaves nothing behind
- `proxies`      fail on command in front of an API server
- `histories`    clusters in which much goes wrong, and what must hold in them
- `cluster`      one cluster to work on: our own control plane, or one given on purpose
- `api_server`   a plain connection to an API server
- `fake_nodes`   KWOK nodes that carry GPUs
"""
