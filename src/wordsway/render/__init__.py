"""Every result in every medium; the only package that imports rich and matplotlib.

A medium is one folder: `terminal`, `html`, `plot`. A result is one file in each, named after its
class, which registers the function that shows it. A result without such a function is shown as a
plain table.
"""
