"""Plans by linear programming: jobs as a fluid over cells, then whole jobs on nodes.

At ten thousand nodes a linear program over cells of alike nodes still takes a second, says how good
any plan can be, and whom to admit on which GPU type. What it splits, `rounding.py` makes whole.
"""
