"""Can a model learn that one word flips the label? Interpolate, fine-tune, re-train, change one
word.
"""
