"""The JSON messages of the API under `/api/v1`: the contract with the page and with programs.

Field names are in camelCase in JSON. Times are RFC 3339 in UTC. GPUs are counted in thousandths
(`milli`). All names and texts come from users and are shown as text. A name that the user may not
see is never in a message: in its place is None, or `another job`, `another node` within a sentence.

| path | message |
| --- | --- |
| `GET /api/v1/me` | `Me` |
| `GET /api/v1/cluster` | `Cluster` |
| `GET /api/v1/map`, `GET /api/v1/map/groups/{key}` | `Map` |
| `GET /api/v1/queue` | `WaitingLine` |
| `GET /api/v1/queues` | `Queues` |
| `GET /api/v1/jobs` | `Jobs` |
| `GET /api/v1/jobs/{kind}/{namespace}/{name}` | `JobDetail` |
| `GET /api/v1/power` | `Power` |
| `GET /api/v1/history` | `History` |
| `POST /api/v1/explain` | `ExplainRequest`, answered by `Explanation` |
| `POST /api/v1/whatif` | `WhatIfRequest`, answered by `WhatIf` |
| `GET /api/v1/events?view=cluster&view=map…` | a stream of `Changed`, as server-sent events |

Whatever goes wrong is answered by a `Problem`: 400 for input that cannot be used, 401 without a
valid token, 403 where a right is missing, 404, 429 with `Retry-After`, 503 while the cluster is not
known yet or the API server does not answer.
"""
