"""The models refuse what the API server refuses, so that plans from files are no different."""

import pytest
from pydantic import ValidationError

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.resource import Resource
from support.objects.manifests import Manifest
from support.objects.wrong_manifests import ONLY_WE_REFUSE, WRONG, Wrong


def read(manifest: Manifest) -> Resource:
    return KIND_BY_NAME[manifest["kind"]].model_validate(manifest)


@pytest.mark.parametrize("wrong", WRONG + ONLY_WE_REFUSE, ids=lambda wrong: wrong.claim)
def test_what_is_wrong_is_refused_by_the_name_of_its_field(wrong: Wrong) -> None:
    name = wrong.field.rsplit(".", 1)[-1].split("[", 1)[0]
    with pytest.raises(ValidationError, match=name):
        read(wrong.manifest)


@pytest.mark.parametrize("wrong", WRONG + ONLY_WE_REFUSE, ids=lambda wrong: wrong.claim)
def test_what_is_right_is_read(wrong: Wrong) -> None:
    assert read(wrong.base()).wire()["kind"] == wrong.base()["kind"]
