"""Plimsoll: one plan for every training and inference job on every GPU."""
