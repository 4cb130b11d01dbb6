"""Who asks, and what they may see."""

from plimsoll_console.messages.base import Message


class Me(Message, frozen=True):
    """The user whom the token belongs to, and what may be seen.

    `allJobs`: of every namespace; otherwise of `namespaces` only, which names those that have jobs.
    """

    user: str
    groups: tuple[str, ...]
    all_jobs: bool
    namespaces: tuple[str, ...]
    nodes: bool
    queues: bool
    pools: bool
    power_domains: bool
    policy: bool
