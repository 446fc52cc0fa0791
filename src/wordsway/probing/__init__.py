"""A model that somebody uses, one word at a time: which word moves it, in which layer, and which
real word would do it.
"""
