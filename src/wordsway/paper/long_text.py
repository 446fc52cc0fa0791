"""A text of a few hundred tokens, for figures and benchmarks about long texts."""

from __future__ import annotations

LONG_TEXT = (
    "The old bridge had carried carts, buses and three generations of children before anyone "
    "thought of closing it. When the committee met in the spring, the engineer laid a small "
    "piece of rusted iron on the table and said nothing for a while. Everybody looked at the "
    "window. Outside, the river was high and brown, and a boy was throwing sticks into it from "
    "the railing. The mayor asked whether a coat of paint would help, and somebody laughed, and"
    " then nobody did. In the end they agreed to count the cars for a month, to ask the village"
    " on the other side what it thought, and to write to the ministry, which had not answered a"
    " letter since the flood. The engineer put the iron back into his pocket. On the way home "
    "he stopped in the middle of the bridge, as he had done on the first day, and listened: "
    "under the wheels of the last bus it sang a low note that he had never heard before, and he"
    " wrote down the hour."
)
