"""Large-neighbourhood search: part of a plan is placed anew, exactly, over and over.

Each part is drawn from one of several kinds of neighbourhood, chosen by what they have yielded.
"""
