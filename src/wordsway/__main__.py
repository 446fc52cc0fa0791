"""`python -m wordsway`."""

from wordsway.cli.app import main

main()
