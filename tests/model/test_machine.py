"""The machine itself, on programs whose outcomes are known (litmus tests)."""

import pytest
from model.access import (
    Violation,
    add,
    block,
    block_while_equal,
    compare_and_swap,
    exchange,
    load,
    mark,
    plain_load,
    plain_store,
    require,
    store,
    wake_all,
)
from model.machine import explore


def outcomes(words, *programs, weak=True):
    """What the programs may return together; each returns one number."""
    found = set()

    def noting(program, w):
        def worker():
            result = yield from program()
            yield mark(w, result)
            return 0

        return worker

    explore(
        [noting(program, w) for w, program in enumerate(programs)],
        dict.fromkeys(words, 0),
        weak=weak,
        at_end=lambda value, notes: found.add(tuple(notes[w] for w in range(len(programs)))),
    )
    return found


def message(write, read):
    """Whether the data may look unwritten (0) to who has seen the flag; 2: it has not seen it."""

    def writer():
        yield plain_store("data", 1)
        yield write("flag", 1)
        return 0

    def reader():
        if (yield read("flag")) == 0:
            return 2
        return (yield plain_load("data"))

    return {reader_saw for _, reader_saw in outcomes(("data", "flag"), writer, reader)}


def test_a_release_seen_by_an_acquire_shows_what_was_written_before():
    assert message(store, load) == {1, 2}


def test_a_plain_load_of_the_flag_may_leave_the_data_stale():
    assert message(store, plain_load) == {0, 1, 2}


def test_a_plain_store_of_the_flag_may_leave_the_data_stale():
    assert message(plain_store, load) == {0, 1, 2}


def buffered(write, read):
    """Two workers write one word each and read the other's: Dekker's question."""

    def program(mine, other):
        def worker():
            yield write(mine, 1)
            return (yield read(other))

        return worker

    return outcomes("xy", program("x", "y"), program("y", "x"))


def test_releases_and_acquires_let_both_sides_miss_the_other():
    assert (0, 0) in buffered(store, load)


def test_read_modify_writes_let_at_most_one_side_miss_the_other():
    assert buffered(exchange, lambda word: add(word, 0)) == {(0, 1), (1, 0), (1, 1)}


def test_an_addition_hands_on_what_the_store_before_it_released():
    def first():
        yield plain_store("data", 1)
        yield store("flag", 1)
        return 0

    def second():
        yield add("flag", 1, acquire=False, release=False)
        return 0

    def reader():
        if (yield load("flag")) != 2:
            return 2
        return (yield plain_load("data"))

    assert {saw for *_, saw in outcomes(("data", "flag"), first, second, reader)} == {1, 2}


def test_a_word_never_goes_back_for_one_reader():
    def writer():
        yield plain_store("x", 1)
        yield plain_store("x", 2)
        return 0

    def reader():
        first = yield plain_load("x")
        second = yield plain_load("x")
        return 10 * first + second

    assert {saw for _, saw in outcomes("x", writer, reader)} == {0, 1, 2, 11, 12, 22}


def test_the_strong_machine_has_no_stale_values():
    def program(mine, other):
        def worker():
            yield store(mine, 1)
            return (yield load(other))

        return worker

    assert outcomes("xy", program("x", "y"), program("y", "x"), weak=False) == {(0, 1), (1, 0), (1, 1)}


def test_all_interleavings_of_two_increments_without_atomicity():
    def worker():
        seen = yield load("x")
        yield store("x", seen + 1)
        return 0

    ends = set()
    explore([worker, worker], {"x": 0}, at_end=lambda value, notes: ends.add(value("x")))
    assert ends == {1, 2}


def test_a_failed_compare_and_swap_returns_what_is_there():
    def worker():
        return (yield compare_and_swap("x", 5, 6))

    assert outcomes("x", worker) == {(0,)}


def test_a_compare_under_the_lock_misses_no_wake():
    def sleeper():
        yield block_while_equal("x", 0)
        return 0

    def waker():
        yield store("x", 1)
        yield wake_all("x")
        return 0

    explore([sleeper, waker], {"x": 0})


def test_a_wake_before_the_block_is_lost():
    def sleeper():
        yield block("x")
        return 0

    def waker():
        yield wake_all("x")
        return 0

    with pytest.raises(Violation, match=r"deadlock"):
        explore([sleeper, waker], {"x": 0})


def test_a_spin_on_what_nobody_changes_is_a_livelock():
    def spinner():
        while (yield load("x")) == 0:
            pass
        return 0

    with pytest.raises(Violation, match=r"livelock"):
        explore([spinner], {"x": 0})


def test_a_violation_tells_the_schedule():
    def worker():
        yield store("x", 1)
        require(False, "no worker may store")
        return 0

    with pytest.raises(Violation, match=r"(?s)no worker may store"):
        explore([worker], {"x": 0})
