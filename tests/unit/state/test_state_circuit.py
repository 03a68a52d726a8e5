"""When a shared store is asked."""

from gateway.state.circuit import FAILURES_TO_OPEN, FIRST_PAUSE_S, LONGEST_PAUSE_S, Circuit

APART_S = 0.25


def opened(clock):
    circuit = Circuit(clock, APART_S)
    for _ in range(FAILURES_TO_OPEN):
        fails(circuit, clock)
    return circuit


def fails(circuit, clock):
    clock.advance(APART_S)
    circuit.failed()


def test_a_crowd_that_meets_one_hiccup_counts_once(clock):
    circuit = Circuit(clock, APART_S)

    for _ in range(100):
        circuit.failed()

    assert circuit.is_closed


def test_failures_open_it_only_when_none_succeeded_between(clock):
    circuit = Circuit(clock, APART_S)

    for _ in range(FAILURES_TO_OPEN - 1):
        fails(circuit, clock)
    circuit.succeeded()
    fails(circuit, clock)

    assert circuit.is_closed


def test_an_open_circuit_lets_exactly_one_probe_through_after_its_pause(clock):
    circuit = opened(clock)
    assert not circuit.take_probe()

    clock.advance(FIRST_PAUSE_S)

    assert [circuit.take_probe() for _ in range(3)] == [True, False, False]


def test_pauses_double_up_to_a_bound_while_probes_fail(clock):
    circuit, pauses = opened(clock), []

    for _ in range(10):
        waited = 0.0
        while not circuit.take_probe():
            clock.advance(FIRST_PAUSE_S)
            waited += FIRST_PAUSE_S
        pauses.append(waited)
        circuit.probe_ended(well=False)

    assert pauses[:4] == [FIRST_PAUSE_S * n for n in (1, 2, 4, 8)]
    assert pauses[-1] == LONGEST_PAUSE_S


def test_a_probe_that_went_well_closes_it_and_clears_the_count(clock):
    circuit = opened(clock)
    clock.advance(FIRST_PAUSE_S)
    circuit.take_probe()

    circuit.probe_ended(well=True)
    fails(circuit, clock)

    assert circuit.is_closed
