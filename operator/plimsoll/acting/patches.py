"""What to send so that a status on the API server becomes another: JSON merge patches, RFC 7396."""

from collections.abc import Mapping

from pydantic import JsonValue

from plimsoll.api.model import ApiModel


def status_patch(old: ApiModel, new: ApiModel) -> dict[str, JsonValue]:
    """The merge patch from a status as the API server has it to a new one, defaults included."""
    there = old.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
    return merge_patch(there, new.wire())


def merge_patch(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What JSON merge patch (RFC 7396) turns `old` into `new`; empty where they are the same.

    Neither holds nulls: in a merge patch null says that a field goes.
    """
    patch: dict[str, JsonValue] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        was = old.get(key)
        if isinstance(was, dict) and isinstance(value, dict):
            inner = merge_patch(was, value)
            if inner:
                patch[key] = inner
        elif was != value or key not in old:
            patch[key] = value
    return patch
