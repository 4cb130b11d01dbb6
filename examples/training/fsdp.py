"""Sharded training (FSDP) whose checkpoints are loaded on any number of workers.

    torchrun fsdp.py --steps 2000 --checkpoints /checkpoints

Each rank saves its shard with torch.distributed.checkpoint, which puts the shards together anew for
however many ranks load them. It needs torch 2.2 or newer, and a folder that all workers share.
"""

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel

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


def state_of(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """The shards of this rank, in the form that can be put together anew."""
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def save(folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Save all shards in a folder of the step; when all are written rank 0 says so by a file."""
    target = folder / f"step-{step}"
    dcp.save(state_of(model, optimizer), checkpoint_id=str(target))
    dist.barrier()
    if dist.get_rank() == 0:
        part = folder / "last.part"
        part.write_text(str(step))
        part.replace(folder / "last")
        for old in folder.glob("step-*"):
            if old != target:
                shutil.rmtree(old)


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the last whole checkpoint, if there is one; the steps that are done."""
    last = folder / "last"
    if not last.exists():
        return 0
    step = int(last.read_text())
    state = state_of(model, optimizer)
    dcp.load(state, checkpoint_id=str(folder / f"step-{step}"))
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    return step


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
    whole = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
    model = FullyShardedDataParallel(whole, device_id=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    asked.checkpoints.mkdir(parents=True, exist_ok=True)
    begin = load(asked.checkpoints, model, optimizer)
    # All have read which checkpoint is the last one before anybody makes another.
    dist.barrier()
    try:
        with plimsoll_worker.attach(agree=agreement(device)) as job:
            for done in range(begin + 1, asked.steps + 1):
                x, y = batch(done, asked.batch, device)
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                job.progress(done=done)
                if job.should_save or done == asked.steps:
                    save(asked.checkpoints, done, model, optimizer)
                    job.saved(done)
                    if dist.get_rank() == 0:
                        print(f"saved at step {done}, loss {loss.item():.4f}", flush=True)
                if job.should_stop:
                    break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
