import msgspec

from plimsoll.kube.objects import Container, ContainerStatus, Pod, PodSpec, PodStatus, Toleration
from plimsoll.kube.sharing import PodSharing, SharedParts


def a_pod(image_gpus: str = "1") -> Pod:
    document = {
        "spec": {
            "containers": [
                {"name": "main", "resources": {"limits": {"nvidia.com/gpu": image_gpus}}}
            ],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    return msgspec.convert(document, Pod)


def test_equal_parts_of_two_pods_are_one_object() -> None:
    share = PodSharing()
    one, other = share(a_pod()), share(a_pod())
    assert one == a_pod()
    assert one.spec.containers is other.spec.containers
    assert one.spec.tolerations is other.spec.tolerations
    assert one.status.conditions is other.status.conditions


def test_unequal_parts_stay_apart() -> None:
    share = PodSharing()
    assert share(a_pod("1")).spec.containers != share(a_pod("2")).spec.containers


def test_parts_that_look_alike_on_the_wire_keep_their_types() -> None:
    pod = Pod(
        spec=PodSpec(containers=(Container(name="main"),), tolerations=(Toleration(key="k"),)),
        status=PodStatus(container_statuses=(ContainerStatus(name="main"),)),
    )
    shared = PodSharing()(pod)
    assert isinstance(shared.spec.containers[0], Container)
    assert isinstance(shared.status.container_statuses[0], ContainerStatus)


def test_what_is_remembered_is_bounded() -> None:
    parts = SharedParts(limit=2)
    first = parts.one("field", ("a",))
    parts.one("field", ("b",))
    parts.one("field", ("c",))
    assert parts.one("field", tuple("a")) is not first
