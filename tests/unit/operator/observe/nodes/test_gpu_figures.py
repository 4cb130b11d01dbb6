import pytest

from plimsoll.observe.nodes.gpu_figures import PUBLISHED, figures_of, is_amd


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("NVIDIA-A100-SXM4-40GB", "a100"),
        ("NVIDIA-A100-SXM4-80GB", "a100 80gb"),
        ("NVIDIA-A100-80GB-PCIe", "a100 80gb pcie"),
        ("nvidia-tesla-a100", "a100"),
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("NVIDIA-H100-PCIe", "h100 pcie"),
        ("NVIDIA-H100-NVL", "h100 nvl"),
        ("nvidia-h100-80gb", "h100"),
        ("NVIDIA-GH200-480GB", "gh200"),
        ("NVIDIA-L40S", "l40s"),
        ("NVIDIA-L4", "l4"),
        ("a10g", "a10g"),
        ("NVIDIA-A10", "a10"),
        ("Tesla-T4-SHARED", "t4"),
        ("Tesla-V100-SXM2-32GB", "v100 32gb"),
        ("NVIDIA-RTX-6000-Ada-Generation", "rtx 6000 ada"),
        ("NVIDIA-RTX-A6000", "a6000"),
        ("NVIDIA-GeForce-RTX-2080-Ti", "2080 ti"),
        ("AMD-Instinct-MI300X-OAM", "mi300x"),
        ("AMD_Instinct_MI250X", "mi250x"),
    ],
)
def test_a_gpu_is_known_by_the_labels_that_exist_for_it(label: str, words: str) -> None:
    figures = figures_of(label)
    assert figures is not None
    assert figures.words == frozenset(words.split())


def test_whose_it_is_is_known_by_its_name() -> None:
    amd = ["AMD-Instinct-MI300X-OAM", "mi250x", "AMD-ACME-9000", "AMD_Radeon_Pro_W7900"]
    assert all(map(is_amd, amd))
    assert not any(map(is_amd, ["NVIDIA-H100-80GB-HBM3", "Tesla-T4", "ACME-9000", ""]))


def test_of_an_unknown_gpu_nothing_is_published() -> None:
    assert figures_of("ACME-9000") is None
    assert figures_of("") is None


def test_newer_generations_are_faster() -> None:
    ladder = ("k80", "p100", "v100", "a100", "h100", "h200", "b200")
    speeds = [figures.speed for name in ladder if (figures := figures_of(name)) is not None]
    assert len(speeds) == len(ladder)
    assert speeds == sorted(speeds)


def test_every_figure_has_its_source_and_no_entry_hides_another() -> None:
    assert all(each.source for each in PUBLISHED)
    assert len({each.words for each in PUBLISHED}) == len(PUBLISHED)
