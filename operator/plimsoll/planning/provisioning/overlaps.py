"""Find pools whose nodes would be another pool's once they are there.

A node belongs to the first pool, by name, that selects it. What is bought for a later one would so
come under another price, and other terms, than those for which it was chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.pool_templates import expected_labels, product_label
from plimsoll.observe.snapshot import Snapshot
from plimsoll.observe.views.pools import pool_of


@dataclass(frozen=True, slots=True)
class _Expected:
    """The labels that a node to come will have at least."""

    labels: Mapping[str, str]


def overlapped(snapshot: Snapshot) -> Mapping[str, str]:
    """Why nothing is bought of such pools, by their names."""
    return snapshot.memo.of(_overlapped, snapshot.pools)


def _overlapped(pools: tuple[GPUPool, ...]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for pool in pools:
        if pool.spec.provisioning is None:
            continue
        owner = pool_of(_Expected({**product_label(pool), **expected_labels(pool)}), pools)
        if owner is not None and owner is not pool:
            name = owner.metadata.name
            found[pool.metadata.name] = (
                f"nothing is bought, since its nodes would be those of GPUPool {name}: of several"
                f" pools that select a node the first by name has it; narrow nodeSelector of {name}"
            )
    return found
