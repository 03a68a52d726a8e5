"""All that is known of one experiment: who was exposed, and the evidence on every metric and guardrail of every treatment."""

from collections.abc import Iterator, Mapping

import msgspec

from policies.experiments import evidence as ev
from policies.experiments import paired, sample_ratio
from policies.experiments.assign import draw, shares
from policies.experiments.evidence import Evidence, Value
from policies.experiments.metrics import LATER
from policies.experiments.paired import Paired
from policies.experiments.plan import REST, Experiment, Guardrail, Metric
from policies.experiments.sample_ratio import Shares
from policies.experiments.scores import Draw
from policies.experiments.two_by_two import log_mean_of


class Exposure(msgspec.Struct, frozen=True):
    """One request in one experiment: its variant, the digest of its unit, each variant's chance, and the covariates in the
    order of `Experiment.adjust_by`. `first`: the first one that is known of its unit. The variant is `REST`, and has its chance
    beside the others', where a matched rollout left the unit out."""

    experiment: str
    variant: str
    unit: str
    chances: Mapping[str, float]
    covariates: tuple[float, ...] = ()
    first: bool = False


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """`metrics` by `TREATMENT/METRIC`, `watched` by `TREATMENT/GUARDRAIL`. `requests` and `units` count exposures by variant,
    units as far as they were told apart. `pairs` of a request's answer and the change's were compared before anybody had it;
    `paired`, by the same names as `watched`, is what they say. `round` counts how often it was begun anew."""

    requests: Mapping[str, int] = {}
    units: Shares = Shares()
    metrics: Mapping[str, Evidence] = {}
    watched: Mapping[str, Evidence] = {}
    pairs: int = 0
    paired: Mapping[str, Paired] = {}
    round: int = 0


def begin(experiment: Experiment, round: int = 0) -> Trial:
    """Nothing seen yet."""
    once, alpha = experiment.unit == "request", alpha_of(experiment)
    return Trial(
        metrics={
            key(treatment, metric.name): ev.begin(metric, alpha, None, once=once)
            for treatment in experiment.treatments
            for metric in metrics_of(experiment)
        },
        watched={
            key(treatment, rail.name): ev.begin(rail.metric, rail.alpha, rail.margin, once=once)
            for treatment in experiment.treatments
            for rail in experiment.watch
        },
        round=round,
    )


def key(treatment: str, name: str) -> str:
    return f"{treatment}/{name}"


def alpha_of(experiment: Experiment) -> float:
    """Of one treatment: all together are wrong no more often than the experiment allows."""
    return experiment.alpha / max(1, len(experiment.treatments))


def metrics_of(experiment: Experiment) -> tuple[Metric, ...]:
    """What is measured, the primary metric first; what guardrails watch is shown as well."""
    named: dict[str, Metric] = {}
    primary = () if experiment.primary is None else (experiment.primary,)
    for metric in (*primary, *experiment.also, *[rail.metric for rail in experiment.watch]):
        named.setdefault(metric.name, metric)
    return tuple(named.values())


def exposed(trial: Trial, exposure: Exposure, *, fresh: bool) -> Trial:
    """A request came in. `fresh`: its unit was not seen before."""
    drawn = exposure.variant != REST
    requests = {**trial.requests, exposure.variant: trial.requests.get(exposure.variant, 0) + 1}
    chances = among_drawn(exposure.chances)
    units = sample_ratio.see(trial.units, exposure.variant, chances) if fresh and drawn else trial.units
    return msgspec.structs.replace(trial, requests=requests, units=units)


def measured(trial: Trial, experiment: Experiment, exposure: Exposure, values: Mapping[str, Value]) -> Trial:
    """What a request came to, by source; what is not among `values` was not to be had of it."""
    metrics, watched = dict(trial.metrics), dict(trial.watched)
    for treatment, drawn in draws(experiment, exposure):
        for metric in metrics_of(experiment):
            _see(metrics, key(treatment, metric.name), drawn, values.get(metric.source), exposure)
        for rail in experiment.watch:
            found, source = key(treatment, rail.name), rail.metric.source
            _see(watched, found, beside_drawn(drawn) if source in LATER else drawn, values.get(source), exposure)
    return msgspec.structs.replace(trial, metrics=metrics, watched=watched)


def beside_drawn(drawn: Draw) -> Draw:
    """Compared with who was drawn alone."""
    return drawn if drawn.among is None else msgspec.structs.replace(drawn, among=None)


def compared(trial: Trial, experiment: Experiment, change: Mapping[str, float], control: Mapping[str, float]) -> Trial:
    """One more request that was asked by the change as well: what both came to, by source."""
    known = dict(trial.paired)
    for treatment, rail in rails(experiment):
        name, source = key(treatment, rail.name), rail.metric.source
        if paired.is_told(rail) and source in change and source in control:
            known[name] = paired.compare(known.get(name, Paired()), rail, change[source], control[source])
    return msgspec.structs.replace(trial, pairs=trial.pairs + 1, paired=known)


def _see(known: dict[str, Evidence], name: str, drawn: Draw, value: Value | None, exposure: Exposure) -> None:
    if value is not None and name in known:
        known[name] = ev.see(known[name], drawn, value, exposure.covariates)


def among_drawn(chances: Mapping[str, float]) -> Mapping[str, float]:
    """The chances of who was drawn for a variant.

    >>> among_drawn({"control": 0.125, "canary": 0.125, "rest": 0.75})
    {'control': 0.5, 'canary': 0.5}
    """
    if REST not in chances:
        return chances
    return shares({name: chance for name, chance in chances.items() if name != REST})


def draws(experiment: Experiment, exposure: Exposure) -> Iterator[tuple[str, Draw]]:
    """For each treatment how this request stands to it and control."""
    control, variant, drawn = experiment.control, exposure.variant, among_drawn(exposure.chances)
    bucket = None if experiment.unit == "request" else draw("bucket", exposure.unit)
    for treatment in experiment.treatments:
        chances = drawn.get(treatment, 0.0), drawn.get(control, 0.0)
        if min(chances) > 0:
            among = exposure.chances[treatment] if REST in exposure.chances else None
            sides = {treatment: True, control: False, REST: False}
            yield (
                treatment,
                Draw(sides.get(variant), *chances, bucket, exposure.first, among=among, is_drawn=variant != REST),
            )


def merged(one: Trial, other: Trial) -> Trial:
    """What two gateways know of one round, as one. Of sample ratios the mean of e-values: both may have seen the same units."""
    return Trial(
        requests=_added(one.requests, other.requests),
        units=_shares(one.units, other.units),
        metrics=_merged(one.metrics, other.metrics),
        watched=_merged(one.watched, other.watched),
        pairs=one.pairs + other.pairs,
        paired=_paired(one.paired, other.paired),
        round=one.round,
    )


def _merged(one: Mapping[str, Evidence], other: Mapping[str, Evidence]) -> Mapping[str, Evidence]:
    return {name: ev.merged(one[name], other[name]) if name in other else one[name] for name in one}


def _paired(one: Mapping[str, Paired], other: Mapping[str, Paired]) -> Mapping[str, Paired]:
    both = {name: paired.merged(one[name], other[name]) for name in one if name in other}
    return {**other, **one, **both}


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (*one, *[n for n in other if n not in one])}


def _shares(one: Shares, other: Shares) -> Shares:
    larger, smaller = (one, other) if sum(one.seen.values()) >= sum(other.seen.values()) else (other, one)
    if not smaller.seen:
        return larger
    return msgspec.structs.replace(
        larger,
        seen={name: larger.seen.get(name, 0) + smaller.seen.get(name, 0) for name in {*larger.seen, *smaller.seen}},
        expected={name: larger.expected[name] + smaller.expected.get(name, 0) for name in larger.expected},
        log_e=log_mean_of((larger.log_e, smaller.log_e)),
    )


def rails(experiment: Experiment) -> Iterator[tuple[str, Guardrail]]:
    """Each guardrail of each treatment."""
    for treatment in experiment.treatments:
        for rail in experiment.watch:
            yield treatment, rail
