"""Large-neighbourhood search: part of a plan is placed anew, exactly, over and over.

Which part comes from one of several kinds of neighbourhood, chosen by what they have yielded.
"""
