"""An independent verifier of proofs: of wordsway it imports the file format alone.

All inequalities are checked in ball arithmetic (Arb, through python-flint): a number is an interval
that contains it, every operation rounds outwards. NumPy guesses eigenvalues and Cholesky factors.
"""
