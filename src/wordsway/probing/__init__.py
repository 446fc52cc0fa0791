"""Probe a pretrained model one word at a time: which word moves it, in which layer, and which real
word does so.
"""
