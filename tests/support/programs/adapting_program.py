"""A training program whose batch the plan may change as it trains.

Its arguments are those of `training_program`. Whatever its batch, a step takes as long, and
gradients are so noisy that each sample brings as much: the larger the batch, the better. A line of
`steps` has the revision of the gang, the samples so far and the batch.
"""

import os
import sys
import time
from pathlib import Path

import plimsoll_worker
from support.programs.training_program import STEP_SECONDS

GRADIENT_NOISE = 1e6


def main(folder: Path) -> None:
    """Train until told to stop."""
    revision, samples = os.environ["PLIMSOLL_REVISION"], 0
    begins_with = plimsoll_worker.batch(1)
    with (
        (folder / "steps").open("a", buffering=1) as steps,
        plimsoll_worker.attach(batch=begins_with) as job,
    ):
        while not job.should_stop:
            time.sleep(STEP_SECONDS)  # the work of a step
            batch = job.batch.size or 0
            samples += batch
            print(revision, samples, batch, file=steps)
            job.progress(done=samples, gradient_noise=GRADIENT_NOISE)
            if job.should_save:
                job.saved(samples)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
