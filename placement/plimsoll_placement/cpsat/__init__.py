"""The model: who should run where and how large, by CP-SAT. The only room with OR-Tools in it."""
