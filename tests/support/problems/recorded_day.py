"""A small recorded day of training and serving, as files."""

import json
from collections.abc import Mapping
from pathlib import Path

from support.programs.recorded_training import write_recording, write_workload


def recorded_day(folder: Path, speeds: Mapping[str, float]) -> Mapping[str, Path]:
    """The profiles, workload, rates, characterization (`rows`) and series of a day, by name."""
    rates = ["model,window_start_s,rate_rps"]
    rates += [f"{m},{600 * w},{5 + w % 7}" for m in ("m-mid", "m-large") for w in range(288)]
    rows = ["model,gpu,throughput_req_s,p95_ttft_ms,median_itl_ms"]
    rows += ["google/flan-t5-xl,1 x T4,3,500,50", "google/flan-t5-xl,1 x A100,6,500,50"]
    rows += ["llama-13b,1 x A100,4,500,50", "llama-13b,1 x A100,9,5000,50"]
    series = {"metadata": {"gap_seconds": 600}, "data": [1, 1, 1, 0] * 50}
    texts = {"rates": "\n".join(rates), "rows": "\n".join(rows), "series": json.dumps(series)}
    paths = {name: folder / name for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    paths["workload"] = write_workload(folder / "w.csv", [100.0, 200.0, 300.0], gpus=2)
    paths["profiles"] = write_recording(folder / "p", speeds=speeds)
    return paths
