"""The programs of a control plane and Prometheus: found, downloaded, or built."""
