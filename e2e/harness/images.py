"""The images that the tests run: the project's own, and one that trains.

By environment variables: BASE_IMAGE and TORCH_IMAGE are what they are built from, where not from
the Dockerfiles' own defaults; BUILD_NETWORK is the network that docker build uses, such as `host`.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness.commands import run

ROOT = Path(__file__).parents[2]
OPERATOR_IMAGE = "plimsoll-operator:e2e"
TRAINING_IMAGE = "plimsoll-e2e-training:e2e"


def build_operator(environment: Mapping[str, str]) -> str:
    """Build the project's image; its name."""
    return _build(OPERATOR_IMAGE, ROOT, environment, "BASE_IMAGE")


def build_training(environment: Mapping[str, str]) -> str:
    """Build the image of workers that train; its name."""
    with tempfile.TemporaryDirectory() as context:
        package = ROOT / "worker" / "plimsoll_worker"
        shutil.copytree(ROOT / "e2e" / "training", context, dirs_exist_ok=True)
        shutil.copytree(package, Path(context, package.name))
        shutil.copytree(ROOT / "examples" / "training", Path(context, "examples"))
        return _build(TRAINING_IMAGE, Path(context), environment, "TORCH_IMAGE")


def _build(tag: str, context: Path, environment: Mapping[str, str], base: str) -> str:
    network, image = environment.get("BUILD_NETWORK"), environment.get(base)
    options = [
        *([f"--network={network}"] if network else []),
        *([f"--build-arg={base}={image}"] if image else []),
    ]
    run("docker", "build", f"--tag={tag}", *options, context, timeout_seconds=1500)
    return tag
