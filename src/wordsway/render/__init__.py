"""Every result in every medium; the only package that imports rich and matplotlib.

A result is described once, as blocks, by a function of `views`; `terminal`, `html` and `plot`
render blocks. A result without such a function is shown as a plain table.
"""
