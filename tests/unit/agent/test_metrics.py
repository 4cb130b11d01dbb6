from plimsoll_agent.metrics import REGISTRY
from support.project.pages import ROOT, rows


def test_each_metric_is_described_with_its_type() -> None:
    documented = {
        n: cells[0] for n, cells in rows(ROOT / "docs" / "guides" / "power.md") if is_metric(n)
    }
    served = {
        f"{family.name}_total" if family.type == "counter" else family.name: family.type
        for family in REGISTRY.collect()
    }
    assert documented == served


def is_metric(name: str) -> bool:
    return name.startswith("plimsoll_agent_")
