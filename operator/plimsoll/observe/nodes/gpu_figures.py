"""The published figures of GPUs, by which their speeds are compared until they are measured.

A GPU is found by the words of its product label: the entry with the most words that are all in the
label. Labels differ by who sets them (`NVIDIA-A100-SXM4-80GB`, `nvidia-tesla-a100`, `a100`).
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

REALISED: Final = 0.75
"""Programs realise so much of what faster GPUs promise, in logarithms."""
_WORD: Final = re.compile(r"[a-z0-9]+")
_AMD_WORDS: Final = frozenset({"amd", "instinct", "radeon"})


@dataclass(frozen=True, slots=True)
class GpuFigures:
    """What a vendor publishes of a GPU.

    `half_tflops`: dense half precision, accumulated in single precision, on tensor or matrix cores
    where it has them, in 10^12 operations per second. `bandwidth` is that of its memory in 10^9
    bytes per second, `memory_gib` its size. `source` names the document.
    """

    words: frozenset[str]
    half_tflops: float
    bandwidth: float
    memory_gib: int
    source: str

    @property
    def speed(self) -> float:
        """How fast it trains, in a unit of its own: a power of the mean of both figures.

        Some of a step is bound by arithmetic, some by memory; which is not known.
        """
        return math.sqrt(self.half_tflops * self.bandwidth) ** REALISED


def _gpu(
    words: str, half_tflops: float, bandwidth: float, memory_gib: int, source: str
) -> GpuFigures:
    return GpuFigures(frozenset(words.split()), half_tflops, bandwidth, memory_gib, source)


_OF_AMD: Final = (
    _gpu("mi355x", 2500, 8000, 288, "AMD Instinct MI355X data sheet, 2025"),
    _gpu("mi350x", 2300, 8000, 288, "AMD Instinct MI350X data sheet, 2025"),
    _gpu("mi325x", 1307.4, 6000, 256, "AMD Instinct MI325X data sheet, 2024"),
    _gpu("mi300x", 1307.4, 5300, 192, "AMD Instinct MI300X data sheet, 2023"),
    _gpu("mi300a", 980.6, 5300, 128, "AMD Instinct MI300A data sheet, 2023"),
    _gpu("mi250x", 191.5, 1638, 64, "AMD Instinct MI250X data sheet, 2021: one of its two dies"),
    _gpu("mi250", 181, 1638, 64, "AMD Instinct MI250 data sheet, 2021: one of its two dies"),
    _gpu("mi210", 181, 1638, 64, "AMD Instinct MI210 data sheet, 2022"),
    _gpu("mi100", 184.6, 1229, 32, "AMD Instinct MI100 data sheet, 2020"),
)
PUBLISHED: Final = (
    _gpu("gb300", 2500, 8000, 288, "NVIDIA GB300 NVL72 product page, 2025"),
    _gpu("b300", 2250, 8000, 288, "NVIDIA HGX platform page, 2025"),
    _gpu("gb200", 2500, 8000, 186, "NVIDIA GB200 NVL72 data sheet, 2024"),
    _gpu("b200", 2250, 8000, 180, "NVIDIA DGX B200 data sheet, 2024"),
    _gpu("rtx pro 6000", 503, 1792, 96, "NVIDIA RTX Blackwell GPU architecture, 2025"),
    _gpu("gh200", 990, 4000, 96, "NVIDIA GH200 data sheet, 2023"),
    _gpu("gh200 144gb", 990, 4900, 144, "NVIDIA GH200 data sheet, 2023"),
    _gpu("h200", 989, 4800, 141, "NVIDIA H200 data sheet, 2024"),
    _gpu("h200 nvl", 835, 4800, 141, "NVIDIA H200 data sheet, 2024"),
    _gpu("h100", 989, 3350, 80, "NVIDIA H100 data sheet, 2023"),
    _gpu("h100 pcie", 756, 2000, 80, "NVIDIA H100 data sheet, 2023"),
    _gpu("h100 nvl", 835, 3938, 94, "NVIDIA H100 NVL product brief, 2024"),
    _gpu("h800", 989, 3350, 80, "NVIDIA H100 data sheet, 2023: slower links only"),
    _gpu("h20", 148, 4000, 96, "NVIDIA H20 specification, 2023"),
    _gpu("a100", 312, 1555, 40, "NVIDIA A100 data sheet, 2021"),
    _gpu("a100 80gb", 312, 2039, 80, "NVIDIA A100 data sheet, 2021"),
    _gpu("a100 80gb pcie", 312, 1935, 80, "NVIDIA A100 data sheet, 2021"),
    _gpu("a800", 312, 2039, 80, "NVIDIA A100 data sheet, 2021: slower links only"),
    _gpu("a30", 165, 933, 24, "NVIDIA A30 data sheet, 2021"),
    _gpu("a40", 149.7, 696, 48, "NVIDIA A40 data sheet, 2021"),
    _gpu("a10", 125, 600, 24, "NVIDIA A10 data sheet, 2021"),
    _gpu("a10g", 70, 600, 24, "NVIDIA A10G data sheet, 2021"),
    _gpu("a2", 18, 200, 16, "NVIDIA A2 data sheet, 2021"),
    _gpu("a6000", 154.8, 768, 48, "NVIDIA RTX A6000 data sheet, 2021"),
    _gpu("a5000", 111.1, 768, 24, "NVIDIA RTX A5000 data sheet, 2021"),
    _gpu("a4000", 76.7, 448, 16, "NVIDIA RTX A4000 data sheet, 2021"),
    _gpu("l40s", 362, 864, 48, "NVIDIA L40S data sheet, 2023"),
    _gpu("l40", 181, 864, 48, "NVIDIA L40 data sheet, 2022"),
    _gpu("l4", 121, 300, 24, "NVIDIA L4 data sheet, 2023"),
    _gpu("rtx 6000 ada", 364, 960, 48, "NVIDIA RTX 6000 Ada data sheet, 2022"),
    _gpu("rtx 5090", 209.5, 1792, 32, "NVIDIA RTX Blackwell GPU architecture, 2025"),
    _gpu("rtx 4090", 165.2, 1008, 24, "NVIDIA Ada GPU architecture, 2022"),
    _gpu("rtx 3090", 71, 936, 24, "NVIDIA Ampere GA102 GPU architecture, 2020"),
    _gpu("quadro rtx 6000", 130.5, 672, 24, "NVIDIA Turing GPU architecture, 2018"),
    _gpu("quadro rtx 8000", 130.5, 672, 48, "NVIDIA Turing GPU architecture, 2018"),
    _gpu("2080 ti", 53.8, 616, 11, "NVIDIA Turing GPU architecture, 2018"),
    _gpu("t4", 65, 320, 16, "NVIDIA T4 data sheet, 2019"),
    _gpu("v100", 125, 900, 16, "NVIDIA V100 data sheet, 2020"),
    _gpu("v100 32gb", 125, 900, 32, "NVIDIA V100 data sheet, 2020"),
    _gpu("v100 pcie", 112, 900, 16, "NVIDIA V100 data sheet, 2020"),
    _gpu("v100 pcie 32gb", 112, 900, 32, "NVIDIA V100 data sheet, 2020"),
    _gpu("v100s", 130, 1134, 32, "NVIDIA V100 data sheet, 2020"),
    _gpu("p100", 21.2, 732, 16, "NVIDIA P100 data sheet, 2016"),
    _gpu("p100 pcie", 18.7, 732, 16, "NVIDIA P100 data sheet, 2016"),
    _gpu("p40", 11.8, 346, 24, "NVIDIA P40 data sheet, 2016: single precision"),
    _gpu("p4", 5.5, 192, 8, "NVIDIA P4 data sheet, 2016: single precision"),
    _gpu("k80", 4.4, 240, 12, "NVIDIA K80 data sheet, 2015: one of its two, single precision"),
    *_OF_AMD,
)


@lru_cache(2**10)
def figures_of(product: str) -> GpuFigures | None:
    """What is published of the GPU with this product label; None if it is not known."""
    words = frozenset(_WORD.findall(product.lower()))
    found = [each for each in PUBLISHED if each.words <= words]
    return max(found, key=lambda each: len(each.words), default=None)


def is_amd(product: str) -> bool:
    """Whether the GPU with this product label is one of AMD's, by what it is called."""
    words = frozenset(_WORD.findall(product.lower()))
    return bool(words & _AMD_WORDS) or figures_of(product) in _OF_AMD
