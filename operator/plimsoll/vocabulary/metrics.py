"""The operator's metrics, under the names that `/metrics` shows.

They are named plimsoll_<what>_<unit>; where Kueue has the same metric, Kueue's name is used.
"""

from prometheus_client import Counter, Gauge, Histogram, Summary

_WAIT_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400)
_PLAN_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30)

PENDING_JOBS = Gauge(
    "plimsoll_pending_jobs",
    "Waiting jobs by queue; status is active (starts once capacity is free) or inadmissible",
    ["queue", "status"],
)
RUNNING_JOBS = Gauge("plimsoll_running_jobs", "Jobs that hold capacity, by queue", ["queue"])
JOBS = Gauge(
    "plimsoll_jobs",
    "Jobs by queue, kind, state (Waiting, Running, Suspended, Deleting or Finished) and reason",
    ["queue", "kind", "state", "reason"],
)
ADMITTED_JOBS = Counter("plimsoll_admitted_jobs", "Admissions of jobs, by queue", ["queue"])
ADMISSION_WAIT = Histogram(
    "plimsoll_admission_wait_time_seconds",
    "Time from a job's creation to its admission, or readmission, by queue",
    ["queue"],
    buckets=_WAIT_BUCKETS,
)
PREEMPTED_JOBS = Counter(
    "plimsoll_preempted_jobs",
    "Jobs that lost their capacity, by queue and reason",
    ["queue", "reason"],
)
FINISHED_JOBS = Counter(
    "plimsoll_finished_jobs",
    "Finished training jobs, by queue and result (Completed or Failed)",
    ["queue", "result"],
)
LOST_GPU_SECONDS = Counter(
    "plimsoll_lost_gpu_seconds",
    "Work of training jobs that stops threw away, in GPU-seconds, by queue and the stop's reason",
    ["queue", "reason"],
)
QUEUE_GPUS_USED = Gauge(
    "plimsoll_queue_gpus_used",
    "GPUs that jobs of a queue and its children hold, by GPU type and GPUPool",
    ["queue", "gpu_type", "pool"],
)
QUEUE_GPUS_GUARANTEED = Gauge(
    "plimsoll_queue_gpus_guaranteed", "GPUs that a queue owns, by GPU type", ["queue", "gpu_type"]
)
QUEUE_GPUS_LIMIT = Gauge(
    "plimsoll_queue_gpus_limit",
    "Most GPUs that a queue may use, by GPU type; absent without a limit",
    ["queue", "gpu_type"],
)
QUEUE_GPUS_BORROWED = Gauge(
    "plimsoll_queue_gpus_borrowed",
    "GPUs that a queue holds beyond its guarantee, by GPU type",
    ["queue", "gpu_type"],
)
QUEUE_GPUS_OWED = Gauge(
    "plimsoll_queue_gpus_owed",
    "GPUs of a queue's guarantee that its jobs could use and do not have, by GPU type",
    ["queue", "gpu_type"],
)
QUEUE_GPUS_WAITING = Gauge(
    "plimsoll_queue_gpus_waiting",
    "GPUs that waiting jobs of a queue need to start, under each GPU type that would do",
    ["queue", "gpu_type"],
)
QUEUE_DOLLARS_PER_HOUR = Gauge(
    "plimsoll_queue_dollars_per_hour",
    "What the GPUs that a queue uses cost an hour, by GPUPool",
    ["queue", "pool"],
)
QUEUE_ENERGY = Counter(
    "plimsoll_queue_energy_joules",
    "Energy of the GPUs that a queue uses, measured where their draw is, else expected",
    ["queue"],
)
GPUS = Gauge(
    "plimsoll_gpus",
    "GPUs by type, GPUPool and state (Used, Idle, Unusable, Draining or Unmanaged)",
    ["gpu_type", "pool", "state"],
)
GPU_DOLLARS_PER_HOUR = Gauge(
    "plimsoll_gpu_dollars_per_hour", "Price of a GPU-hour, by GPUPool", ["pool"]
)
PLAN_SECONDS = Histogram(
    "plimsoll_plan_seconds",
    "Time the solver took for a plan, by how its search ended",
    ["outcome"],
    buckets=_PLAN_BUCKETS,
)
PLAN_GAP_PERCENT = Gauge(
    "plimsoll_plan_gap_percent", "Gap of the last plan to the best proven bound, in percent"
)
PLANS_DROPPED = Counter(
    "plimsoll_plans_dropped",
    "Plans dropped because they no longer held when about to be carried out, by reason",
    ["reason"],
)
NODES_ORDERED = Counter("plimsoll_nodes_ordered", "Nodes ordered, by GPUPool", ["pool"])
NODES_ARRIVED = Counter(
    "plimsoll_nodes_arrived",
    "Ordered nodes that have come with all their GPUs, by GPUPool",
    ["pool"],
)
NODES_GIVEN_BACK = Counter(
    "plimsoll_nodes_given_back", "Ordered nodes given back, by GPUPool", ["pool"]
)
NODE_SHORTAGES = Counter(
    "plimsoll_node_shortages", "Ordered nodes that could not be had, by GPUPool", ["pool"]
)
NODE_FAILURES = Gauge(
    "plimsoll_node_failures",
    "Orders of a GPUPool in a row that could not be met",
    ["pool"],
)
NODES_BOUGHT = Gauge(
    "plimsoll_nodes_bought",
    "Nodes that were bought and are still to be paid for, by GPUPool and state (Coming or Arrived)",
    ["pool", "state"],
)
NODES_ADVISED = Gauge(
    "plimsoll_nodes_advised",
    "Nodes that would be bought for jobs that wait if the operator might buy them, by GPUPool",
    ["pool"],
)
IDLE_NODE_SECONDS = Counter(
    "plimsoll_idle_node_seconds",
    "Time that bought nodes were there without a job, by GPUPool",
    ["pool"],
)
SPENT_PER_HOUR = Gauge(
    "plimsoll_bought_dollars_per_hour",
    "What bought and ordered nodes cost an hour, by GPUPool and capacity type",
    ["pool", "capacity_type"],
)
PURCHASE_BUDGET = Gauge(
    "plimsoll_purchase_budget_dollars_per_hour",
    "What all bought nodes together may cost an hour; +Inf without a limit",
)
SNAPSHOTS = Counter(
    "plimsoll_snapshots",
    "Attempts to write a snapshot file, by result (Written or Failed)",
    ["result"],
)
LOOP_ERRORS = Counter(
    "plimsoll_loop_errors",
    "Turns, or parts of a turn, of the planning loop that failed unexpectedly",
)
FAULTS = Counter(
    "plimsoll_faults",
    "Objects set aside because reading, planning or acting on them failed, by kind and stage",
    ["kind", "stage"],
)
LOOP_SECONDS = Histogram(
    "plimsoll_loop_seconds",
    "Duration of a turn of the planning loop: observe, plan and act",
    buckets=_PLAN_BUCKETS,
)
LOOP_CPU_SECONDS = Counter(
    "plimsoll_loop_cpu_seconds",
    "CPU time of the planning loop's turns by part, without searches",
    ["part"],
)
INCREMENTAL_DIFFERENCES = Counter(
    "plimsoll_incremental_differences",
    "Times that what is kept from turn to turn differed from what comes of looking at everything",
    ["part"],
)
PART_RESTARTS = Counter(
    "plimsoll_part_restarts",
    "Restarts of a part of the operator after a failure",
    ["part"],
)
PART_FAILING = Gauge(
    "plimsoll_part_failing",
    "1 while a part of the operator keeps failing, else 0",
    ["part"],
)
OBJECT_ERRORS = Counter(
    "plimsoll_object_errors",
    "Unexpected errors confined to one object, by what was being done with it",
    ["doing"],
)
API_WRITES = Counter(
    "plimsoll_api_writes",
    "Writes sent to the API server, by verb and resource",
    ["verb", "resource"],
)
API_WRITES_AT_ONCE = Gauge(
    "plimsoll_api_writes_at_once",
    "Most writes to the API server in flight at once; follows its response times and rejections",
)
API_ERRORS = Counter(
    "plimsoll_api_errors",
    "Failed requests to the API server, by verb, resource and error (NotFound, Conflict...)",
    ["verb", "resource", "error"],
)
API_SECONDS = Histogram(
    "plimsoll_api_request_duration_seconds",
    "Duration of successful requests to the API server, including the wait to be sent",
    ["verb"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
WATCH_STALENESS = Gauge(
    "plimsoll_watch_staleness_seconds",
    "Time since a resource's watched objects were last confirmed to be current",
    ["resource"],
)
WATCH_RELISTS = Counter("plimsoll_watch_relists", "Full lists of a resource", ["resource"])
WATCHED_OBJECTS = Gauge(
    "plimsoll_watched_objects", "Objects kept in memory, by resource", ["resource"]
)
UNREAD_OBJECTS = Gauge(
    "plimsoll_unread_objects",
    "Unreadable objects by resource; the last readable version of each remains in use",
    ["resource"],
)
EVENTS_DROPPED = Counter(
    "plimsoll_events_dropped", "Events that were not written, by cause", ["cause"]
)
WORKER_REQUESTS = Counter(
    "plimsoll_worker_requests",
    "Answered requests from workers, by HTTP status",
    ["code"],
)
TOKEN_REVIEWS = Counter(
    "plimsoll_token_reviews",
    "Token reviews requested from the API server, by result (Accepted, Refused or Failed)",
    ["result"],
)
WORKER_CONNECTIONS = Gauge(
    "plimsoll_worker_connections", "Open connections to the workers' endpoint"
)
WORKER_CONNECTIONS_REFUSED = Counter(
    "plimsoll_worker_connections_refused",
    "Connections to the workers' endpoint closed without a valid request, by cause",
    ["cause"],
)
STRAGGLERS = Counter(
    "plimsoll_stragglers",
    "Workers much slower than the rest of their gang, by result (Found or Replaced)",
    ["result"],
)
REPORTING_WORKERS = Gauge(
    "plimsoll_reporting_workers", "Workers that have reported within the last ten minutes"
)
PROMETHEUS_QUERIES = Counter(
    "plimsoll_prometheus_queries",
    "Queries to Prometheus, by outcome (Answered, Refused, Unavailable or Unusable)",
    ["query", "outcome"],
)
PROMETHEUS_AGE = Gauge(
    "plimsoll_prometheus_answer_age_seconds",
    "Time since Prometheus last answered a query properly; +Inf until it first does",
    ["query"],
)
PROMETHEUS_FLAWS = Counter(
    "plimsoll_prometheus_flawed_samples",
    "Unusable samples, by flaw (NaN, Infinite, Absurd, Stale or Malformed)",
    ["query", "flaw"],
)
SERVICE_WANTED_REPLICAS = Gauge(
    "plimsoll_service_wanted_replicas",
    "Replicas that the load of a service requires, regardless of any pinned count",
    ["namespace", "name", "role"],
)
SERVICE_WANTED_LOAD = Gauge(
    "plimsoll_service_wanted_load",
    "Load that a service's replicas should be sized for, in the unit of its profiles",
    ["namespace", "name", "role", "bucket"],
)
SERVICE_OBSERVED_LOAD = Gauge(
    "plimsoll_service_observed_load",
    "Current load of a service, in the unit of its profiles",
    ["namespace", "name", "role", "bucket"],
)
SERVICE_FORESEEN_LOAD = Gauge(
    "plimsoll_service_foreseen_load",
    "Forecast load of a service within the horizon, at its quantile",
    ["namespace", "name", "role", "bucket"],
)
SERVICE_QUANTILE = Gauge(
    "plimsoll_service_forecast_quantile",
    "Quantile of the forecast that a service's capacity is for; absent without a forecast",
    ["namespace", "name", "role", "bucket"],
)
SERVICE_UNSERVED = Gauge(
    "plimsoll_service_unserved_percent",
    "Share of a service's load that exceeded its ready capacity over the last days",
    ["namespace", "name", "role", "bucket"],
)
SERVICE_ALLOWED = Gauge(
    "plimsoll_service_allowed_unserved_percent",
    "Share of a service's load that may exceed its capacity from here on",
    ["namespace", "name", "role", "bucket"],
)
SERVICE_KV_CACHE = Gauge(
    "plimsoll_service_kv_cache_used_ratio",
    "The used share of the replicas' KV cache, on average; absent where servers do not report it",
    ["namespace", "name", "role"],
)
SERVICE_CAPACITY = Gauge(
    "plimsoll_service_replica_capacity",
    "The load that one replica on a GPU type carries, measured or as its profile says",
    ["namespace", "name", "role", "gpu_type", "bucket"],
)
SERVICE_PLACED_REPLICAS = Gauge(
    "plimsoll_service_placed_replicas",
    "Replicas of a service that have a place",
    ["namespace", "name", "role"],
)
SERVICE_READY_REPLICAS = Gauge(
    "plimsoll_service_ready_replicas",
    "Replicas of a service that are ready",
    ["namespace", "name", "role"],
)
SERVICE_START_SECONDS = Summary(
    "plimsoll_service_start_seconds",
    "Time from the creation of a service's pod until it first was ready",
    ["namespace", "name", "role"],
)
SERVICE_ATTAINMENT = Gauge(
    "plimsoll_service_slo_attainment_percent",
    "Share of a service's requests that met its service level; absent while unknown",
    ["namespace", "name"],
)
SERVICE_OBJECTIVE = Gauge(
    "plimsoll_service_slo_objective_percent",
    "Share of a service's requests that must meet its service level",
    ["namespace", "name"],
)
LOAD_GAPS = Counter(
    "plimsoll_load_gaps",
    "Measurements of a role's load without a usable result, by gap",
    ["gap"],
)
POWER_BUDGET_WATTS = Gauge("plimsoll_power_budget_watts", "Power budget of a domain", ["domain"])
POWER_PLANNED_WATTS = Gauge(
    "plimsoll_power_planned_budget_watts",
    "Power that plans may currently assign within a domain",
    ["domain"],
)
POWER_EXPECTED_WATTS = Gauge(
    "plimsoll_power_expected_watts",
    "Power draw of a domain expected under the current plan, before GPU power caps",
    ["domain"],
)
POWER_MEASURED_WATTS = Gauge(
    "plimsoll_power_measured_watts",
    "Measured power draw of a domain; NaN while unknown",
    ["domain"],
)
POWER_SAVED_WATTS = Gauge(
    "plimsoll_power_capped_watts", "Power saved by GPU power caps in a domain", ["domain"]
)
POWER_UNKNOWN = Gauge(
    "plimsoll_power_unknown", "1 while the power draw of a domain is unknown, else 0", ["domain"]
)
POWER_MEASURED_NODES = Gauge(
    "plimsoll_power_measured_nodes", "Nodes whose GPUs' power draw is known"
)
CAPPED_NODES = Gauge("plimsoll_capped_nodes", "Nodes whose GPUs should be power-capped")
CAPS_NOT_APPLIED = Gauge(
    "plimsoll_caps_not_applied", "Nodes whose power cap no agent has confirmed"
)
WATCHED_GPUS = Gauge("plimsoll_watched_gpus", "GPUs for which Prometheus has error metrics")
FAULTY_GPUS = Gauge("plimsoll_faulty_gpus", "GPUs with a hardware error within the last 15 minutes")
LEADER = Gauge("plimsoll_leader", "1 while this replica holds the lease, else 0")
