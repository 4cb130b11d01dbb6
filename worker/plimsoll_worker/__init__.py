"""Report a training job's progress to Plimsoll, and learn when to save and stop.

    with plimsoll_worker.attach() as job:
        for step in range(first, last):
            train(step)
            job.progress(done=step + 1)
            if job.should_save:
                save(step + 1)
                job.saved(step + 1)
            if job.should_stop:
                break

Outside Plimsoll the same lines do no harm: only SIGTERM then asks to save and stop. Whatever
happens to the operator or the network, training goes on.
"""

from plimsoll_worker.attaching import attach
from plimsoll_worker.batch import Batch, batch
from plimsoll_worker.job import STOPPED, Job
from plimsoll_worker.wire import Notice

__all__ = ["STOPPED", "Batch", "Job", "Notice", "attach", "batch"]
