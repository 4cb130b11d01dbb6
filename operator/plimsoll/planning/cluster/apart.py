"""Pods that keep away from their like: of those that a selector matches, a node takes one.

That is required anti-affinity by the name of the node, among pods that have the same term and match
it themselves. Others that a term keeps away from are left to kube-scheduler.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from plimsoll.api.kinds import Job
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.kube.objects.objects import LabelSelector, PodAffinityTerm
from plimsoll.observe.eligibility.placement_spec import placement_spec
from plimsoll.observe.eligibility.selectors import matches
from plimsoll.observe.labels import JOB_KIND, JOB_NAME, ROLE
from plimsoll_placement.model import SINGLE

_ONE_NODE: Final = "kubernetes.io/hostname"


def places_apart(job: Job, role: str, template: PodTemplate) -> Iterator[str]:
    """What a pod of a role takes so that no other of its like is on its node, by resource."""
    if template.spec.affinity is None:
        return  # as nearly always, and what follows takes time
    affinity = placement_spec(template).affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return
    own = {JOB_NAME: job.metadata.name, JOB_KIND: job.kind, ROLE: role}
    labels = {**template.metadata.labels, **own}
    for term in affinity.pod_anti_affinity.required:
        selector, where = term.label_selector, _where(term, job.metadata.namespace)
        if where and selector is not None and matches(selector, labels):
            text = msgspec.json.encode(selector, order="deterministic")
            digits = hashlib.sha256(text).hexdigest()[:10]
            yield f"{SINGLE}node without its like (podAntiAffinity)|{where}/{digits}"


def _where(term: PodAffinityTerm, namespace: str) -> str:
    """The namespaces in which a term keeps pods of one away from each other on a node; "" if none.

    Namespaces that are selected by labels are left to kube-scheduler.
    """
    if term.topology_key != _ONE_NODE:
        return ""
    if term.namespace_selector is not None:
        return "*" if term.namespace_selector == LabelSelector() else ""
    return namespace if namespace in (term.namespaces or (namespace,)) else ""
