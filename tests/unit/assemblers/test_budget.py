"""Floors, ceilings, priorities and whole items, on bare numbers."""

from hypothesis import given
from hypothesis import strategies as st

from assemblers.budget import Shelf, allocate
from assemblers.records import Reason, SectionKind

FACTS, HISTORY, MATERIAL = SectionKind.FACTS, SectionKind.HISTORY, SectionKind.MATERIAL


def test_items_are_taken_in_order_and_those_too_large_are_skipped():
    shelf = Shelf(FACTS, [5, 9, 3, 2])
    assert allocate(10, [shelf]) == 0
    assert list(shelf.taken) == [0, 2, 3]
    assert shelf.short is Reason.OVER_BUDGET


def test_the_ceiling_bounds_items_and_not_the_frame():
    shelf = Shelf(HISTORY, [5, 5, 5], ceiling=10, frame=7)
    assert allocate(100, [shelf]) == 100 - 10 - 7
    assert (list(shelf.taken), shelf.used, shelf.charge) == ([0, 1], 10, 17)
    assert shelf.short is Reason.OVER_CEILING


def test_a_ceiling_of_zero_takes_nothing_and_none_everything():
    closed, opened = Shelf(FACTS, [1], ceiling=0, frame=3), Shelf(MATERIAL, [1])
    assert allocate(10, [closed, opened]) == 9
    assert (closed.charge, opened.charge) == (0, 1)
    assert closed.short is Reason.OVER_CEILING


def test_a_frame_that_leaves_no_room_for_an_item_is_not_paid():
    shelf = Shelf(FACTS, [5], frame=6)
    assert allocate(10, [shelf]) == 10
    assert shelf.charge == 0


def test_lower_priority_numbers_are_served_first_and_ties_go_by_byte_order():
    first, second, third = Shelf(MATERIAL, [8], priority=1), Shelf(FACTS, [8]), Shelf(HISTORY, [8])
    allocate(16, [third, second, first])
    assert [list(shelf.taken) for shelf in (first, second, third)] == [[0], [0], []]


def test_a_floor_is_kept_free_for_a_section_of_low_priority():
    greedy, modest = (
        Shelf(FACTS, [4] * 10, priority=1),
        Shelf(HISTORY, [4] * 10, floor=9, frame=1, priority=2),
    )
    allocate(20, [greedy, modest])
    assert (greedy.used, modest.used) == (8, 8)


def test_a_floor_that_is_not_used_goes_to_others():
    greedy, empty = Shelf(FACTS, [4] * 5, priority=1), Shelf(HISTORY, [], floor=12, priority=2)
    assert allocate(20, [greedy, empty]) == 0


def test_floors_make_no_difference_where_everything_fits():
    plain, floored = Shelf(FACTS, [6, 5, 4], ceiling=10), Shelf(FACTS, [6, 5, 4], ceiling=10, floor=9)
    allocate(50, [plain])
    allocate(50, [floored])
    assert plain.taken == floored.taken


def test_a_groups_line_is_paid_once_by_its_first_item_and_counts_against_the_ceiling():
    shelf = Shelf(HISTORY, [3, 3, 3], groups=[0, 1, 0], group_costs=[2, 2], ceiling=9)
    allocate(100, [shelf])
    assert (list(shelf.taken), shelf.used) == ([0, 2], 8)


def test_items_beyond_the_most_are_not_looked_at():
    shelf = Shelf(HISTORY, [3, 30, 3, 3], max_items=2)
    allocate(20, [shelf])
    assert (list(shelf.taken), shelf.stopped) == ([0, 2], 3)
    nothing = Shelf(HISTORY, [3], max_items=0)
    allocate(20, [nothing])
    assert (list(nothing.taken), nothing.stopped) == ([], 0)


def test_a_known_selection_is_taken_whole_where_it_fits():
    known = Shelf(FACTS, [3, 30, 3], frame=1, ceiling=10, whole=([0, 2], 6, None))
    assert allocate(10, [known]) == 3
    assert known.taken is not None
    assert list(known.taken) == [0, 2]
    tight = Shelf(FACTS, [3, 30, 3], frame=1, ceiling=10, whole=([0, 2], 6, None))
    allocate(5, [tight])
    assert list(tight.taken) == [0]


SHELVES = st.lists(
    st.builds(
        Shelf,
        kind=st.sampled_from((FACTS, HISTORY, MATERIAL)),
        costs=st.lists(st.integers(1, 30), max_size=12),
        floor=st.integers(0, 40),
        ceiling=st.none() | st.integers(0, 60),
        priority=st.integers(0, 3),
        frame=st.integers(0, 9),
        groups=st.none() | st.just([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, -1]),
        group_costs=st.just((2, 3, 4)),
        max_items=st.none() | st.integers(0, 9),
    ),
    max_size=4,
)


@given(st.integers(0, 120), SHELVES)
def test_no_allocation_passes_the_room_or_a_ceiling_and_the_rest_is_exact(room: int, shelves: list[Shelf]):
    room = max(room, sum(shelf.floor for shelf in shelves))
    left = allocate(room, shelves)
    assert left >= 0
    assert left == room - sum(shelf.charge for shelf in shelves)
    for shelf in shelves:
        items = sum(shelf.costs[item] for item in shelf.taken)
        opened = {shelf.groups[item] for item in shelf.taken} - {-1} if shelf.groups else set()
        assert shelf.used == items + sum(shelf.group_costs[group] for group in opened)
        assert len(set(shelf.taken)) == len(shelf.taken)
        assert shelf.ceiling is None or shelf.used <= shelf.ceiling
        assert shelf.max_items is None or len(shelf.taken) <= shelf.max_items


@given(
    st.lists(st.integers(1, 20), max_size=6),
    st.integers(0, 120),
    st.none() | st.integers(0, 90),
    st.integers(0, 40),
    st.integers(1, 9),
)
def test_a_section_that_is_known_to_fit_whole_comes_out_as_when_it_is_tried(
    costs: list[int], room: int, ceiling: int | None, floor: int, group_cost: int
):
    def section() -> Shelf:
        return Shelf(
            SectionKind.SESSION,
            costs,
            min(floor, room),
            ceiling,
            groups=[0] * len(costs),
            group_costs=(group_cost,),
        )

    tried, known, whole = section(), section(), sum(costs) + group_cost
    if ceiling is None or whole <= ceiling:
        known.whole = (range(len(costs)), whole, None)
    assert allocate(room, [known]) == allocate(room, [tried])
    assert (list(known.taken), known.charge) == (list(tried.taken), tried.charge)
