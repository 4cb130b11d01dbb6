"""Plans by linear programming: jobs as a fluid over node classes, then whole jobs on nodes.

Even at ten thousand nodes a linear program over node classes takes a second, bounds how good any
plan can be, and says which jobs to admit on which GPU type. `rounding.py` makes whole what it
splits.
"""
