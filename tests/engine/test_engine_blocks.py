"""The pool of KV blocks."""

from backends.engine.blocks import MAX_EVENTS, BlockPool, blocks_for

A, B = b"a" * 16, b"b" * 16


def published(pool, digest, tokens=(1,)):
    block = pool.take()
    pool.publish(block, digest, tokens)
    return block


def test_a_released_prefix_is_found_again_until_the_room_is_needed():
    pool = BlockPool(2)
    block = published(pool, A)
    pool.release([block])

    assert pool.find(A, (1,)) == block
    assert pool.free == 2
    pool.take()
    pool.take()

    assert pool.find(A, (1,)) is None
    assert pool.stats().evictions == 1


def test_the_end_of_a_released_prefix_is_evicted_before_its_start():
    pool = BlockPool(2)
    start, end = published(pool, A), published(pool, B)

    pool.release([end, start])
    pool.take()

    assert pool.find(A, (1,)) == start
    assert pool.find(B, (1,)) is None


def test_a_prefix_that_was_used_again_outlives_one_that_was_not():
    pool = BlockPool(2)
    used, idle = published(pool, A), published(pool, B)
    pool.release([used])
    pool.release([idle])

    pool.hold(used)
    pool.release([used])
    pool.take()

    assert pool.resident([A]) == 1
    assert pool.resident([B]) == 0


def test_a_digest_with_other_tokens_is_a_miss():
    pool = BlockPool(1)
    published(pool, A, (1, 2))

    assert pool.find(A, (1, 3)) is None


def test_an_empty_pool_gives_nothing():
    pool = BlockPool(1)
    pool.take()

    assert pool.take() is None


def test_clear_forgets_prefixes_and_leaves_blocks_with_their_holders():
    pool = BlockPool(3)
    held, released = published(pool, A), published(pool, B)
    pool.release([released])

    pool.clear()

    assert pool.resident([A]) == pool.resident([B]) == 0
    assert pool.references(held) == 1
    assert pool.free == 2
    pool.release([held])
    assert pool.free == 3


def test_resident_counts_the_leading_part_of_a_chain():
    pool = BlockPool(3)
    published(pool, A)

    assert pool.resident([A, B]) == 1
    assert pool.resident([B, A]) == 0


def test_events_tell_what_came_and_went_in_order_and_only_once():
    pool = BlockPool(1)
    pool.release([published(pool, A)])
    published(pool, B)

    assert pool.drain_events().changes == ((A, True), (A, False), (B, True))
    assert pool.drain_events().changes == ()


def test_a_reader_of_events_who_is_too_late_is_told():
    pool = BlockPool(1)
    for number in range(MAX_EVENTS // 2 + 1):
        pool.release([published(pool, number.to_bytes(16, "big"))])

    assert not pool.drain_events().complete
    assert pool.drain_events().complete


def test_blocks_are_counted_up():
    assert [blocks_for(tokens) for tokens in (0, 1, 16, 17, 32)] == [0, 1, 1, 2, 2]
