"""Read the head of a snapshot file, which the operator writes above the objects."""

from pathlib import Path
from typing import Any, cast

import msgspec
import yaml

from plimsoll.cli.inputs.manifests import STDIN
from plimsoll.errors import BadInput
from plimsoll.snapshots.head import SNAPSHOT_VERSION, Head


class _File(msgspec.Struct, frozen=True):
    plimsoll: Any = None


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    snapshot_version: int


_OTHER_VERSION = (
    f"plimsoll.snapshotVersion: is {{}}, but this program reads {SNAPSHOT_VERSION}: use the version"
    " that wrote it, or remove the field plimsoll to plan for the current time"
)
_NO_HEAD = (
    "plimsoll: is missing, so no plan is recorded: use a file that the operator has written, or"
    " make a new plan with: plimsoll plan --cluster {}"
)


def head_of(path: str) -> Head | None:
    """The head of a file; None if it has none, such as kubectl's output.

    Raises BadInput if it cannot be read or has another version.
    """
    raw = None if path == STDIN or Path(path).is_dir() else _raw(path)
    if raw is None:
        return None
    try:
        version = msgspec.convert(raw, _Version).snapshot_version
        if version != SNAPSHOT_VERSION:
            raise BadInput([f"{path}: {_OTHER_VERSION.format(version)}"])
        return msgspec.convert(raw, Head)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        raise BadInput([f"{path}: plimsoll{place.rstrip('`')}: {what}"]) from error


def required_head(path: str) -> Head:
    """The head of a file that must have one. Raises BadInput."""
    head = head_of(path)
    if head is None:
        raise BadInput([f"{path}: {_NO_HEAD.format(path)}"])
    return head


def _raw(path: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise BadInput([f"{path}: cannot be read: {error.strerror}"]) from error
    try:
        return msgspec.json.decode(text, type=_File).plimsoll
    except msgspec.DecodeError:
        return _of_yaml(text)


def _of_yaml(text: bytes) -> Any:  # noqa: ANN401 - any YAML
    """The head of a file edited as YAML; syntax errors are reported later."""
    try:
        document: Any = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        return None
    return cast("dict[str, Any]", document).get("plimsoll") if isinstance(document, dict) else None
