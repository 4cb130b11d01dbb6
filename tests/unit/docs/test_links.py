from pathlib import Path

import pytest

from support.project.pages import ROOT, anchors, links, mentions, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    here = [link for link in links(page) if "://" not in link]
    lost = [link for link in here if not leads_somewhere(page, link)]
    assert not lost, "\n".join(lost)


def test_pages_that_files_name_are_there() -> None:
    named = set(mentions())
    assert named
    lost = sorted(
        f"{file.relative_to(ROOT)}: {mention}"
        for file, mention in named
        if not leads_somewhere(ROOT / "README.md", mention)
    )
    assert not lost, "\n".join(lost)


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_each_page_of_the_docs_is_reached_from_their_index() -> None:
    docs = ROOT / "docs"
    reached: set[Path] = set()
    ahead = [docs / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or docs not in page.parents or not page.exists():
            continue
        reached.add(page)
        targets = (link.partition("#")[0] for link in links(page) if "://" not in link)
        ahead += [(page.parent / each).resolve() for each in targets if each.endswith(".md")]
    lost = set(docs.rglob("*.md")) - reached
    assert not lost, "\n".join(sorted(str(page.relative_to(ROOT)) for page in lost))
