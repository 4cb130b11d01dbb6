"""Data-parallel training under torchrun that goes on where it stopped, on any number of workers.

    torchrun ddp.py --steps 2000 --checkpoints /checkpoints

Rank 0 saves; all ranks stop after the same step. It runs on GPUs with NCCL, else on CPUs with gloo,
with torch 1.13 or newer. Without Plimsoll it runs just the same.
"""

import argparse
import os
from collections.abc import Callable
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
    parser.add_argument("--batch", type=int, default=32, help="samples of each rank in a step")
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


def batch(step: int, size: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Samples of a line with noise, others for each step and rank."""
    generator = torch.Generator().manual_seed(step * dist.get_world_size() + dist.get_rank())
    x = torch.randn(size, 8, generator=generator)
    y = x.sum(dim=1, keepdim=True) + 0.01 * torch.randn(size, 1, generator=generator)
    return x.to(device), y.to(device)


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
    if is_first:
        print(f"goes on after step {begin} with {dist.get_world_size()} ranks", flush=True)
    try:
        with plimsoll_worker.attach(agree=agreement(device)) as job:
            for done in range(begin + 1, asked.steps + 1):
                x, y = batch(done, asked.batch, device)
                loss = nn.functional.mse_loss(parallel(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                job.progress(done=done)
                if job.should_save or done == asked.steps:
                    if is_first:
                        save(file, done, model, optimizer)
                        print(f"saved at step {done}, loss {loss.item():.4f}", flush=True)
                    job.saved(done)
                if job.should_stop:
                    break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
