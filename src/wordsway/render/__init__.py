"""Every result in every medium; the only room that imports rich and matplotlib.

A medium is one folder: `terminal`, `html`, `plot`. A result is one file in each, named after its
class, which registers the function that shows it. What no function was written for is shown as a
plain table.
"""
