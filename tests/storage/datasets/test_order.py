from itertools import combinations, pairwise, permutations

from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.storage.datasets.order import merge_order, n_moved

CONTESTS = st.lists(st.integers(0, 9).map(str), unique=True)


def test_merge_order__examples():
    for known, source, expected in [
        ("", "abc", "abc"),
        ("abc", "", "abc"),
        ("abc", "de", "abcde"),  # all new: at the end
        ("abc", "xaybzcw", "xaybzcw"),
        ("abc", "bx", "abxc"),  # right after its predecessor
        ("abc", "xyb", "axybc"),  # before the next known one
        ("abcd", "ca", "cbad"),  # known ones change places, others keep theirs
        ("abcd", "xcya", "xcybad"),
    ]:
        assert "".join(merge_order(known, source)) == expected


@repeatable(300)
@given(CONTESTS, CONTESTS)
def test_merge_order__source_is_in_its_order_and_other_contests_keep_their_places(known, source):
    merged = merge_order(known, source)
    assert sorted(merged) == sorted({*known, *source})
    assert [one for one in merged if one in source] == source
    assert [one for one in merged if one not in source] == [one for one in known if one not in source]
    ours = [one for one in source if one in known]
    for at, one in enumerate(merge_order(known, ours)):
        assert (one in ours) == (known[at] in ours)
        assert one in ours or one == known[at]
    for before, one in pairwise(source):
        if one not in known and (before in known or not ours or source.index(ours[0]) < source.index(before)):
            assert merged.index(one) == merged.index(before) + 1
    assert merge_order(merged, source) == merged


def test_n_moved__is_the_minimum_number_of_contests_to_move():
    before = list("abcd")
    for after in permutations(before):
        for n in range(4, 0, -1):
            stays = [list(kept) for kept in combinations(before, n)]
            if any([one for one in after if one in kept] == kept for kept in stays):
                assert n_moved(before, after) == 4 - n
                break
    assert n_moved("abc", "xacy") == 0
