"""Data-parallel training under torchrun that goes on where it stopped, on any number of workers.

    torchrun ddp.py --steps 2000 --checkpoints /checkpoints

Rank 0 saves; all ranks stop after the same step. With a `batch` in the job a step takes the same
samples on any number of workers: what a rank has no memory for it accumulates. What a rank does
before it waits for the others is timed, so that a slow one is found. It runs on GPUs with NCCL,
else on CPUs with gloo, with torch 1.13 or newer. Without Plimsoll it runs just the same.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import plimsoll_worker


def options() -> argparse.Namespace:
    """What is asked for on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=32, help="samples of a rank, without a plan")
    default = os.environ.get("PLIMSOLL_CHECKPOINT_LOCATION", "checkpoints")
    parser.add_argument("--checkpoints", type=Path, default=Path(default))
    return parser.parse_args()


def place() -> torch.device:
    """Join the other ranks, and say what this one computes on."""
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def agreement(device: torch.device) -> Callable[[int], int]:
    """What makes one word of all ranks' words: the largest."""

    def agree(word: int) -> int:
        words = torch.tensor([word], dtype=torch.int64, device=device)
        dist.all_reduce(words, op=dist.ReduceOp.MAX)
        return int(words.item())

    return agree


def save(file: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Save so that a file that is there is whole: it is renamed when it is written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    part = file.with_suffix(".part")
    torch.save(state, part)
    part.replace(file)


def load(file: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load what was saved, if anything was; the steps that are done."""
    if not file.exists():
        return 0
    state = torch.load(file, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def samples(
    step: int, part: int, batch: plimsoll_worker.Batch, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Samples of a line with noise: this rank's part of those that all ranks have in a step."""
    generator = torch.Generator().manual_seed(step)
    size = batch.local * batch.accumulation * dist.get_world_size()
    x = torch.randn(size, 8, generator=generator)
    y = x.sum(dim=1, keepdim=True) + 0.01 * torch.randn(size, 1, generator=generator)
    first = (dist.get_rank() * batch.accumulation + part) * batch.local
    mine = slice(first, first + batch.local)
    return x[mine].to(device), y[mine].to(device)


def learn(
    parallel: DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]],
    timed: Callable[[], AbstractContextManager[None]],
) -> float:
    """One step, with the mean gradient of all parts; ranks exchange theirs once. The mean loss.

    No more than the forward passes is timed: the last backward pass waits for others' gradients.
    """
    optimizer.zero_grad()
    total = 0.0
    for number, (x, y) in enumerate(parts, start=1):
        with parallel.no_sync() if number < len(parts) else nullcontext():
            with timed():
                loss = nn.functional.mse_loss(parallel(x), y) / len(parts)
            loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def main() -> None:
    """Train until all steps are done, or until it is time to stop."""
    asked, device = options(), place()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    file = asked.checkpoints / "last.pt"
    begin = load(file, model, optimizer)
    parallel = DistributedDataParallel(model)
    is_first = dist.get_rank() == 0
    batch = plimsoll_worker.batch(local=asked.batch)
    # CUDA computes on after a call has returned; what is timed must be done.
    wait = torch.cuda.synchronize if device.type == "cuda" else None
    if is_first:
        print(f"goes on after step {begin} with {dist.get_world_size()} ranks, {batch}", flush=True)
    try:
        with plimsoll_worker.attach(agree=agreement(device)) as job:
            for done in range(begin + 1, asked.steps + 1):
                each = range(batch.accumulation)
                parts = [samples(done, part, batch, device) for part in each]
                loss = learn(parallel, optimizer, parts, partial(job.computing, wait))
                job.progress(done=done)
                if job.should_save or done == asked.steps:
                    if is_first:
                        save(file, done, model, optimizer)
                        print(f"saved at step {done}, loss {loss:.4f}", flush=True)
                    job.saved(done)
                if job.should_stop:
                    break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
