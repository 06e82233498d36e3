"""Sizes, alignment and the packing of keys."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from seer_env.runtime import layout
from seer_env.runtime.layout import (
    ALIGNMENT,
    CACHE_LINE,
    CHUNK,
    CLAIMS,
    CONTROL,
    FREE_SLOTS,
    LEQ,
    MAX_EMISSIONS,
    MAX_ENTITIES,
    MAX_MICRO,
    STRIDE,
    WORKER,
    aligned_zeros,
    event_dtype,
    pack_seq,
    pending_dtype,
    unpack_seq,
)

EXTREMES = [(0, 1, MAX_MICRO), (0, 1, MAX_ENTITIES - 1), (0, 1, MAX_EMISSIONS - 1)]


@pytest.mark.parametrize("parts", list(itertools.product(*EXTREMES)))
def test_unpacking_a_key_inverts_packing(parts):
    assert unpack_seq(pack_seq(*parts)) == parts


def test_the_largest_key_is_the_largest_int64():
    assert pack_seq(MAX_MICRO, MAX_ENTITIES - 1, MAX_EMISSIONS - 1) == np.iinfo(np.int64).max


def test_keys_order_by_micro_step_then_emitter_then_counter():
    parts = list(itertools.product(*EXTREMES))
    assert sorted(parts) == sorted(parts, key=lambda p: pack_seq(*p))


@pytest.mark.parametrize(
    ("payload", "lines"), [(0, 1), (1, 1), (4, 1), (5, 2), (12, 2), (13, 3), (20, 3), (64, 9)]
)
def test_an_event_is_the_fewest_cache_lines_that_hold_its_payload(payload, lines):
    dtype = event_dtype(payload)
    assert dtype.itemsize == lines * CACHE_LINE
    assert dtype["payload"].shape[0] >= payload


def test_the_payload_ends_an_event_without_a_gap():
    for payload in (0, 4, 9, 40):
        dtype = event_dtype(payload)
        offset = dtype.fields["payload"][1]
        assert offset + 8 * dtype["payload"].shape[0] == dtype.itemsize


def test_a_pending_event_carries_the_whole_payload_and_no_link():
    dtype = pending_dtype(9)
    assert dtype.names == ("time", "seq", "kind", "target", "payload")
    assert dtype["payload"].shape == event_dtype(9)["payload"].shape


def test_a_queue_is_one_cache_line():
    assert LEQ.itemsize == CACHE_LINE


@pytest.mark.parametrize("dtype", [WORKER])
def test_workers_do_not_share_prefetched_lines(dtype):
    assert dtype.itemsize % ALIGNMENT == 0


@pytest.mark.parametrize("dtype", [WORKER, CONTROL])
def test_scalars_of_control_blocks_are_whole_words(dtype):
    for name, (kind, offset, *_) in dtype.fields.items():
        if kind.base.itemsize == 8:
            assert offset % 8 == 0, name


def test_every_shared_word_is_alone_on_its_lines():
    names = [
        "PHASE",
        "OPEN",
        "KIND",
        "TOTAL",
        "GRAIN",
        "DONE",
        "SLEEPERS",
        "PAUSED",
        "BUMP",
        "FREE_CHUNKS",
        "CLAIMS",
    ]
    places = sorted(8 * getattr(layout, name) for name in names)
    assert all(b - a >= ALIGNMENT for a, b in itertools.pairwise(places))
    assert places[-1] == 8 * CLAIMS  # behind which the claim words of the other workers are
    assert 8 * STRIDE >= ALIGNMENT


def test_a_worker_can_give_a_chunk_away_and_keep_as_much():
    assert FREE_SLOTS >= 2 * CHUNK


@pytest.mark.parametrize("shape", [0, 1, 7, (3, 5), 4096])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64, LEQ, event_dtype(9)])
def test_arrays_start_on_two_cache_lines_and_hold_zeros(shape, dtype):
    for _ in range(5):
        array = aligned_zeros(shape, dtype)
        assert array.ctypes.data % ALIGNMENT == 0 or array.size == 0
        assert array.shape == np.zeros(shape, dtype).shape
        assert array.dtype == np.dtype(dtype)
        assert not np.frombuffer(array.tobytes(), np.uint8).any()
        assert array.flags.c_contiguous
        assert array.flags.writeable
