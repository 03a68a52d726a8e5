"""An attempt that failed: what that says of its replica, to the process's log, and to whoever judges what comes next."""

import logging
import time

from backends.errors import UpstreamError
from gateway.request.faults import outcome_of, wait_of
from gateway.request.job import Job
from policies.advance import Outcome
from policies.decision import Call

log = logging.getLogger("turnout.upstream")

IN_REQUEST_LOG = frozenset(("rejected", "too_long", "unsupported"))
"""Failures whose words may quote the prompt; the request's own line has their code."""


async def failed(call: Call, error: UpstreamError, job: Job) -> Outcome:
    if error.kind not in IN_REQUEST_LOG:
        log.warning("%s at %s: %s: %s", call.model, call.replica, error.kind, error.message)
    outcome = outcome_of(error, stream=job.request.stream, content_sent=job.out.begun)
    if outcome.failed is not None:
        await job.affinity.failed(call, outcome.failed, wait_of(error.headers, time.time()))
    job.failures.append((call, error))
    return outcome
