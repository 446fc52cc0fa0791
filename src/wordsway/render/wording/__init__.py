"""What every medium says of a result, in words: sentences, headings, facts."""
