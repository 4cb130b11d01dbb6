"""A small model that is trained by any number of workers, and comes out the same for each number.

Everything follows from the step: each step takes the same samples, shared out among the workers, in
double precision. So a run that is stopped, resumed and resized has the losses and the parameters of
one that is not, but for the order in which floating-point numbers are added.

In the folder TRAIN_FOLDER rank 0 keeps `checkpoint.pt`, writes `log.jsonl`, a line for each start,
step and save, and at the end `final.json`, the parameters. Knows torch.distributed and Plimsoll's
worker package; TRAIN_STEPS, TRAIN_SAVE_EVERY and TRAIN_STEP_SECONDS say how much there is to do.
"""
# pyright: basic, reportMissingImports=false

import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import plimsoll_worker

FOLDER = Path(os.environ["TRAIN_FOLDER"])
STEPS = int(os.environ.get("TRAIN_STEPS", "400"))
SAVE_EVERY = int(os.environ.get("TRAIN_SAVE_EVERY", "25"))
STEP_SECONDS = float(os.environ.get("TRAIN_STEP_SECONDS", "0.1"))
BATCH = 24  # of all workers together: it can be shared by 1, 2, 3, 4 and 6
INPUTS = 8


class Training:
    """The model, its optimizer, and the step they are at."""

    def __init__(self) -> None:
        torch.manual_seed(7)
        net = torch.nn.Sequential(
            torch.nn.Linear(INPUTS, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        ).double()
        self.net = net
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        self.step = 0

    def take_step(self) -> float:
        """Do the next step; the loss over the whole batch."""
        inputs, wanted = samples(self.step)
        share = slice(dist.get_rank(), None, dist.get_world_size())
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.model(inputs[share]), wanted[share])
        loss.backward()
        self.optimizer.step()
        time.sleep(STEP_SECONDS)  # what the work of a large model would take
        self.step += 1
        whole = loss.detach().clone()
        dist.all_reduce(whole)
        return float(whole) / dist.get_world_size()

    def save(self) -> None:
        """Write a checkpoint that is whole or not there at all; only rank 0 does."""
        if dist.get_rank() == 0:
            beside = FOLDER / "checkpoint.new"
            with beside.open("wb") as file:
                state = {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}
                torch.save({"step": self.step, **state}, file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(FOLDER / "checkpoint.pt")
            log(saved=self.step)
        dist.barrier()  # nobody says that it is saved before it is

    def resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        file = FOLDER / "checkpoint.pt"
        if file.exists():
            state = torch.load(file)
            self.net.load_state_dict(state["net"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]


def samples(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What a step learns from."""
    source = torch.Generator().manual_seed(1000 + step)
    inputs = torch.rand(BATCH, INPUTS, generator=source, dtype=torch.float64)
    return inputs, torch.sin(inputs.sum(dim=1, keepdim=True))


def log(**said: object) -> None:
    """Write a line that is there whatever happens next; only rank 0 does."""
    if dist.get_rank() != 0:
        return
    line = {"at": time.time(), "revision": os.environ.get("PLIMSOLL_REVISION"), **said}
    with (FOLDER / "log.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def most(number: int) -> int:
    """The greatest of the workers' numbers."""
    found = torch.tensor([number])
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return int(found)


def main() -> None:
    """Train to the end, or until told to stop."""
    dist.init_process_group("gloo")
    training = Training()
    training.resume()
    log(started=training.step, workers=dist.get_world_size())
    with plimsoll_worker.attach(agree=most) as job:
        while training.step < STEPS:
            loss = training.take_step()
            log(step=training.step, loss=loss)
            job.progress(done=training.step)
            if job.should_save or training.step % SAVE_EVERY == 0:
                training.save()
                job.saved(training.step)
            if job.should_stop:
                break
    if dist.get_rank() == 0:
        parameters = torch.nn.utils.parameters_to_vector(training.net.parameters())
        (FOLDER / "final.json").write_text(json.dumps(parameters.tolist()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # Once DistributedDataParallel was made, gloo's threads outlive their process group. One that
    # lets go of a tensor while the interpreter ends aborts the process, and its work counts as
    # failed. So the interpreter does not end: https://github.com/pytorch/pytorch/pull/179291.
    os._exit(0)
