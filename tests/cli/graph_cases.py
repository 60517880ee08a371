"""Histories, newest first as (row, parent), and the graphs that belong beside them."""

CASES = [
    ([], []),
    ([("b", "a"), ("a", None)], ["", ""]),
    # b and c both came from a
    ([("c", "a"), ("b", "a"), ("a", None)], ["●", "│ ●", "●─╯"]),
    # an operation stands beside it
    ([("c", "a"), None, ("b", "a"), ("a", None)], ["●", "│", "│ ●", "●─╯"]),
    # three branches of one
    ([("d", "a"), ("c", "a"), ("b", "a"), ("a", None)], ["●", "│ ●", "│ │ ●", "●─┴─╯"]),
    # a branch of a branch
    ([("e", "c"), ("d", "b"), ("c", "b"), ("b", None)], ["●", "│ ●", "● │", "●─╯"]),
    # two roots
    ([("b", None), ("a", None)], ["", ""]),
    ([("c", "a"), ("b", None), ("a", None)], ["●", "│ ●", "●"]),
    # a lane that passes between a branch and its root
    ([("e", "a"), ("d", "b"), ("c", "a"), ("b", "x"), ("a", "x"), ("x", None)],
     ["●", "│ ●", "│ │ ●", "│ ● │", "●─┼─╯", "●─╯"]),
]
