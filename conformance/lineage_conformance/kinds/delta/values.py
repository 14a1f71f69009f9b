"""Channel values that become blobs: which do, copies of them, and what of one is new against another."""

from __future__ import annotations

from typing import Any

from lineage_conformance.canon import canon


def fit(value: Any) -> bool:
    """Whether a value becomes blobs: a list, or a dictionary of lists with text keys."""
    if type(value) is list:
        return True
    return type(value) is dict and all(type(k) is str and type(v) is list for k, v in value.items())


def own(value: Any) -> Any:
    """A copy in which nothing is shared, not even where the original holds one object twice."""
    if type(value) is list:
        return [own(item) for item in value]
    return {k: own(v) for k, v in value.items()} if type(value) is dict else value


def become(mine: Any, wanted: Any) -> Any:
    """Make one's own object equal to another, changing it in place as deep as the types agree."""
    if type(mine) is list and type(wanted) is list:
        mine[:] = [become(a, b) for a, b in zip(mine, wanted, strict=False)] + wanted[len(mine) :]
        return mine
    if type(mine) is dict and type(wanted) is dict:
        merged = {k: become(mine[k], v) if k in mine else v for k, v in wanted.items()}
        mine.clear()
        mine.update(merged)
        return mine
    return wanted


def _lists(value: Any) -> dict[str, list[Any]]:
    return {"": value} if type(value) is list else value if fit(value) else {}


def shorter(before: Any, after: Any) -> bool:
    """Whether a list became shorter or went away."""
    if not fit(before) or not fit(after):
        return False
    old, new = _lists(before), _lists(after)
    return any(len(new.get(key, [])) < len(items) for key, items in old.items())


def new_bytes(serde: Any, before: Any, after: Any) -> int:
    """Bytes of the items that were not there before; all of a list that became shorter."""
    total = 0
    old = _lists(before)
    for key, items in _lists(after).items():
        known = [] if len(items) < len(old.get(key, [])) else [canon(i) for i in old.get(key, [])]
        for item in items:
            tree = canon(item)
            if tree in known:
                known.remove(tree)
            else:
                total += len(serde.dumps_typed([item])[1])
    return total
