"""The next step of a service: its replicas come and go one by one."""
