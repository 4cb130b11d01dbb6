"""A training program as a user might write it: it counts steps, and saves the count when told to.

Its first argument is the folder of its checkpoint, where `steps` has a line for each step that was
done, and in which revision of the gang. The second one is how many seconds it computes in a step;
for the rest of it the program waits, as it would for the others. Only worker 0 reports how far it
is, for nothing keeps several of them in step.
"""

import os
import sys
import time
from pathlib import Path

import plimsoll_worker

STEP_SECONDS = 0.02


def main(folder: Path, computes_seconds: float) -> None:
    """Train from the last checkpoint until told to stop."""
    checkpoint, revision = folder / "checkpoint", os.environ["PLIMSOLL_REVISION"]
    is_first = os.environ["PLIMSOLL_REPLICA"] == "0"
    done = int(checkpoint.read_text()) if checkpoint.exists() else 0
    with (folder / "steps").open("a", buffering=1) as steps, plimsoll_worker.attach() as job:
        job.progress(done=done if is_first else None)
        while not job.should_stop:
            with job.computing():
                time.sleep(computes_seconds)  # the work of a step
            time.sleep(max(0.0, STEP_SECONDS - computes_seconds))
            done += 1
            print(revision, done, file=steps)
            job.progress(done=done if is_first else None)
            if job.should_save:
                checkpoint.write_text(str(done))
                job.saved(done if is_first else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
