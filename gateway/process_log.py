"""Lines of the process itself, not of a request: a policy in force, a model that did not open, a fault with its traceback."""

import logging
import sys

import structlog

from gateway.settings import LogForm

LEVELS = {"uvicorn": logging.WARNING, "turnout": logging.INFO}


def write_process_log(form: LogForm) -> None:
    """Send them to standard error in the form of the request log. `off` leaves what went wrong."""
    out = logging.StreamHandler(sys.stderr)
    renderer = structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    out.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[out])
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level if form != "off" else logging.ERROR)
