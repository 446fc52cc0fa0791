"""How long may a text be before one word is invisible?"""
