"""The statuses of queues, pools, power domains and the policy."""
