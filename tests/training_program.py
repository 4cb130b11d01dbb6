"""A training program as a user might write it: it counts steps, and saves the count when told to.

Its only argument is the folder of its checkpoint, where `steps` has a line for each step that was
done, and in which revision of the gang.
"""

import os
import sys
import time
from pathlib import Path

import plimsoll_worker

STEP_SECONDS = 0.02


def main(folder: Path) -> None:
    """Train from the last checkpoint until told to stop."""
    checkpoint, revision = folder / "checkpoint", os.environ["PLIMSOLL_REVISION"]
    done = int(checkpoint.read_text()) if checkpoint.exists() else 0
    with (folder / "steps").open("a", buffering=1) as steps, plimsoll_worker.attach() as job:
        job.progress(done=done)
        while not job.should_stop:
            time.sleep(STEP_SECONDS)  # the work of a step
            done += 1
            print(revision, done, file=steps)
            job.progress(done=done)
            if job.should_save:
                checkpoint.write_text(str(done))
                job.saved(done)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
