"""An independent verifier of proofs in ball arithmetic; of wordsway it imports the format alone."""
