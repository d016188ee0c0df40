"""When an Envoy that crashed starts again, and what is told."""

import signal

from contour.host import restarts


def test_each_short_life_doubles_the_wait_up_to_ten_seconds() -> None:
    crashes, delays = restarts.Crashes(), []
    for _ in range(9):
        crashes.add(1, 0.5, [])
        delays.append(crashes.delay)
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]


def test_a_long_life_makes_the_next_start_quick() -> None:
    crashes = restarts.Crashes()
    for _ in range(9):
        crashes.add(1, 0.5, [])
    crashes.add(1, 10, [])
    assert crashes.delay == 0.1


def test_it_is_a_crash_loop_if_it_never_served() -> None:
    crashes = restarts.Crashes()
    for _ in range(3):
        crashes.add(1, 0.5, [])
    assert not crashes.is_crash_loop
    crashes.add(1, 0.5, [])
    assert crashes.is_crash_loop


def test_it_is_no_crash_loop_if_it_served_once() -> None:
    crashes = restarts.Crashes()
    crashes.note_ready()
    for _ in range(50):
        crashes.add(1, 0.5, [])
    assert not crashes.is_crash_loop


def test_the_message_names_the_signal_the_number_and_the_last_lines() -> None:
    crashes = restarts.Crashes()
    assert crashes.message == ""
    crashes.add(-signal.SIGSEGV, 0.5, ["Caught Segmentation fault"])
    crashes.add(-signal.SIGSEGV, 0.5, ["Caught Segmentation fault"])
    assert "killed by SIGSEGV" in crashes.message
    assert "2 times in a row" in crashes.message
    assert "Caught Segmentation fault" in crashes.message


def test_what_could_not_even_be_started_is_tried_again_as_rarely() -> None:
    crashes, delays = restarts.Crashes(), []
    for _ in range(4):
        crashes.fail("Resource temporarily unavailable")
        delays.append(crashes.delay)
    assert delays == [0.1, 0.2, 0.4, 0.8]
    assert crashes.is_crash_loop
    assert crashes.failure.startswith("Envoy cannot be started: Resource temporarily unavailable\n")
