from plimsoll_worker.word import SAVE, STOP, TERMINATED, mark_in, mark_of, word_of


def test_a_word_fits_where_an_int32_does_and_is_read_back() -> None:
    for notice in ("1-1", "2-1", "x" * 63):
        word = word_of(save=True, stop=True, mark=mark_of(notice))
        assert 0 < word < 2**31
        assert (word & SAVE, word & STOP, mark_in(word)) == (SAVE, STOP, mark_of(notice))


def test_the_larger_word_asks_for_more() -> None:
    mark = mark_of("1-1")
    words = [
        word_of(save=False, stop=False, mark=0),
        word_of(save=True, stop=False, mark=mark),
        word_of(save=False, stop=True, mark=TERMINATED),
        word_of(save=True, stop=True, mark=TERMINATED),
    ]
    assert words == sorted(words)
