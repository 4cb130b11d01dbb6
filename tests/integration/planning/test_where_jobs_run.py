"""Where jobs run: the GPUs, nodes and neighbours that they ask for, as kube-scheduler binds them."""

from job_manifests import (
    a_queue,
    a_training_job,
)
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from scene import Scene


def test_unlike_gpus_go_to_the_jobs_that_make_the_most_of_them(scene: Scene) -> None:
    scene.add_nodes(fake_node("h100", H100, 2), fake_node("a100", A100, 2))
    picky = a_training_job("picky", gpus=2, rates={H100: 30, A100: 10}, queue="both")
    easy = a_training_job("easy", gpus=2, rates={H100: 11, A100: 10}, queue="both")
    scene.apply(easy, picky, a_queue("both"))  # without their queue both wait for the other
    assert scene.running(picky).gpu_types == {H100}
    assert scene.running(easy).gpu_types == {A100}


def test_a_job_takes_its_second_choice_where_the_first_is_taken(scene: Scene) -> None:
    scene.add_nodes(fake_node("h100", H100, 2), fake_node("a100", A100, 2))
    rates = {H100: 30, A100: 10}
    first, second = (a_training_job(name, gpus=2, rates=rates) for name in ("first", "second"))
    scene.apply(first)
    assert scene.running(first).gpu_types == {H100}
    scene.apply(second)
    assert scene.running(second).gpu_types == {A100}
    assert scene.running(first).gpu_types == {H100}


def test_a_gang_runs_whole_or_not_at_all(scene: Scene) -> None:
    scene.add_nodes(*(fake_node(f"pair-{index}", H100, 2) for index in range(2)))
    small = a_training_job("small")
    scene.apply(small)
    scene.running(small)
    gang = a_training_job("gang", workers=4)
    scene.apply(gang)
    status = scene.until(gang, reason="InsufficientGPUs")
    assert status["message"] == "needs 4 × NVIDIA-H100-80GB-HBM3; 3 are free"
    assert scene.pods_of(gang) == []
    scene.delete(small)
    assert sorted(scene.running(gang).nodes) == ["pair-0", "pair-0", "pair-1", "pair-1"]
