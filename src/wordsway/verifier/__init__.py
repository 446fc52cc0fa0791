"""An independent verifier of proofs: it imports nothing of wordsway outside this package.

All inequalities are checked in ball arithmetic (Arb, through python-flint): a number is an interval
that contains it, every operation rounds outwards. NumPy is used for Cholesky factors alone, which
are guesses: the verifier bounds what they leave over in balls.
"""
