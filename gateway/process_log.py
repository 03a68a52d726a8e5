"""Lines of the process itself, not of a request: a policy in force, a model that did not open, a fault with its traceback."""

import logging
import sys
from datetime import UTC, datetime

import msgspec

from gateway.settings import LogForm

LEVELS = {"uvicorn": logging.WARNING, "turnout": logging.INFO}


class JsonLines(logging.Formatter):
    """One object a line, with the fields that structlog gives them."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(said).decode()


def write_process_log(form: LogForm) -> None:
    """Send them to standard error in the form of the request log. `off` leaves what went wrong."""
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(JsonLines() if form == "json" else for_people())
    logging.basicConfig(level=logging.WARNING, handlers=[out])
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level if form != "off" else logging.ERROR)


def for_people() -> logging.Formatter:
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.dev.ConsoleRenderer(colors=False),
        ],
    )
