"""Certified upper bounds, the paper's asymptotic curves, and infinite-width limits."""

from __future__ import annotations

from functools import singledispatch

from wordsway.maps.attention import certificate as attention
from wordsway.maps.attention.definition import Attention
from wordsway.maps.attention.view import AttentionView
from wordsway.maps.base import FeatureMap, View
from wordsway.maps.certificate import FAILURE, Certificate, Done, norm_above, silent
from wordsway.maps.dense import certificate as fully_connected
from wordsway.maps.dense.definition import FullyConnected, FullyConnectedView


@singledispatch
def certify(
    phi: FeatureMap, view: View, words: list[int], radius: float, done: Done = silent
) -> Certificate | None:
    """A number that S at each of the words cannot exceed, or None where no certificate is known for
    this kind of map.

    ``view`` is the map's view of the sample in float64; ``done(k)`` is called when k words are
    done. A new map registers its own: ``@certify.register``.
    """
    return None


@certify.register
def _(
    phi: FullyConnected, view: View, words: list[int], radius: float, done: Done = silent
) -> Certificate | None:
    assert isinstance(view, FullyConnectedView)
    return fully_connected.certify(phi, view, words, radius, done)


@certify.register
def _(
    phi: Attention, view: View, words: list[int], radius: float, done: Done = silent
) -> Certificate | None:
    assert isinstance(view, AttentionView)
    return attention.certify(view, words, radius, done)


__all__ = ["FAILURE", "Certificate", "certify", "norm_above"]
