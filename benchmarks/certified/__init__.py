"""Adversarial instances against certificates, in float64 and, where that is close, in 50 digits."""
