"""wordsway inside other libraries: an evaluator for sentence-transformers' trainer
(`wordsway.integrations.evaluator`) and results in MTEB's format (`wordsway.integrations.mteb`).
"""
