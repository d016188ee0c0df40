"""When a dead Envoy starts again, and what is told."""

import signal

from contour.host import restarts


def test_each_short_life_doubles_the_wait_up_to_ten_seconds() -> None:
    deaths, delays = restarts.Deaths(), []
    for _ in range(9):
        deaths.add(1, 0.5, [])
        delays.append(deaths.delay)
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]


def test_a_long_life_makes_the_next_start_quick() -> None:
    deaths = restarts.Deaths()
    for _ in range(9):
        deaths.add(1, 0.5, [])
    deaths.add(1, 10, [])
    assert deaths.delay == 0.1


def test_it_is_hopeless_if_it_never_served() -> None:
    deaths = restarts.Deaths()
    for _ in range(3):
        deaths.add(1, 0.5, [])
    assert not deaths.are_hopeless
    deaths.add(1, 0.5, [])
    assert deaths.are_hopeless


def test_it_is_not_hopeless_if_it_served_once() -> None:
    deaths = restarts.Deaths()
    deaths.forgive()
    for _ in range(50):
        deaths.add(1, 0.5, [])
    assert not deaths.are_hopeless


def test_the_story_names_the_manner_the_number_and_the_last_words() -> None:
    deaths = restarts.Deaths()
    assert deaths.story == ""
    deaths.add(-signal.SIGSEGV, 0.5, ["Caught Segmentation fault"])
    deaths.add(-signal.SIGSEGV, 0.5, ["Caught Segmentation fault"])
    assert "killed by SIGSEGV" in deaths.story
    assert "2 times in a row" in deaths.story
    assert "Caught Segmentation fault" in deaths.story
