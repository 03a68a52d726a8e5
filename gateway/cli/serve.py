"""`turnout serve | worker`: a gateway from a policy file, or from one set of weights."""

import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.terminal import fail, say
from gateway.control.reload import PolicyRefused
from gateway.settings import BadSettings, Settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

HostOption = Annotated[str | None, typer.Option(help="address to listen on (default: 127.0.0.1)")]
PortOption = Annotated[int | None, typer.Option(help="port to listen on (default: 8080; 0 takes a free one)")]

KeysOption = Annotated[Path | None, typer.Option("--keys", help="file with the clients' keys, by hash")]

ONE_MODEL = """policy: 1
name: worker
models:
  {name}:
    run: {{weights: {weights},{precision} speculate: {speculate}, kv: {kv}}}{can}
routes:
  - {{name: only, use: {name}}}
"""

WITH_TOOLS = """
    can: [tools, json_schema, logprobs]"""


def serve(
    policy: Annotated[
        Path | None, typer.Argument(help="the policy file (default: TURNOUT_POLICY)", show_default=False)
    ] = None,
    host: HostOption = None,
    port: PortOption = None,
    keys: KeysOption = None,
    state: Annotated[
        str | None, typer.Option(help="redis://... (+sentinel, +cluster) to share residency and load")
    ] = None,
) -> None:
    """Start the gateway. It follows changes of the policy file and drains on SIGTERM."""
    given = {"policy": policy, "host": host, "port": port, "keys_file": keys, "state": state}
    if policy is not None:
        say(f"reading the policy {policy}")
    run_server({name: value for name, value in given.items() if value is not None})


def worker(
    weights: Annotated[str, typer.Argument(help="a pulled name, a directory, or a .gguf file", show_default=False)],
    name: Annotated[str, typer.Option(help="the model's name in the API")] = "model",
    precision: Annotated[
        str | None,
        typer.Option(help="float32, bfloat16, int8 or int4 (default: as the files hold them, else bfloat16)"),
    ] = None,
    speculate: Annotated[str, typer.Option(help="off, ngram, or draft: its own weights in int4")] = "off",
    kv: Annotated[str, typer.Option(help="tokens in the KV cache, such as 32k")] = "32k",
    tools: Annotated[bool, typer.Option("--tools", help="let it call tools; its chat template must take them")] = False,
    host: HostOption = None,
    port: PortOption = None,
    keys: KeysOption = None,
    announce: Annotated[
        str | None, typer.Option(help="redis://... where gateways with `replicas: announced` find this worker")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="base URL at which they reach it (default: http://HOST:PORT/v1)")
    ] = None,
) -> None:
    """Serve one engine behind the same API, as a replica for another gateway (`at: http://HOST:PORT/v1, worker: true`)."""
    own = Path(weights).expanduser()
    text = one_model_policy(
        name, str(own.resolve()) if own.exists() else weights, precision, speculate, kv, tools=tools
    )
    with tempfile.TemporaryDirectory(prefix="turnout-worker-") as folder:
        policy = Path(folder) / "worker.yaml"
        policy.write_text(text, encoding="utf-8")
        given = {"policy": policy, "host": host, "port": port, "keys_file": keys, "announce": lease(announce, address)}
        run_server({key: value for key, value in given.items() if value is not None})


def lease(state: str | None, address: str | None) -> dict[str, str] | None:
    """The setting `announce`, of what was given on the command line."""
    told = {key: value for key, value in (("state", state), ("address", address)) if value is not None}
    return told or None


def one_model_policy(
    name: str, weights: str, precision: str | None, speculate: str, kv: str, *, tools: bool = False
) -> str:
    """The text of a policy with one engine and nothing to decide."""
    told = {"name": name, "weights": weights, "speculate": speculate, "kv": kv}
    held = "" if precision is None else f" precision: {quoted(precision)},"
    can = WITH_TOOLS if tools else ""
    return ONE_MODEL.format(precision=held, can=can, **{key: quoted(value) for key, value in told.items()})


def quoted(text: str) -> str:
    """A YAML scalar that is exactly this text."""
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"


def run_server(given: dict[str, object]) -> None:
    """Run until a signal; a bad policy or setting ends with its problems and exit code 2."""
    from pydantic import ValidationError

    from gateway.serve import serve as run

    try:
        settings = Settings.model_validate(given)
        refuse_taken_port(settings.host, settings.port, "choose another with --port")
        if settings.admin.port is not None:
            refuse_taken_port(settings.admin.host, settings.admin.port, "choose another in TURNOUT_ADMIN__PORT")
        run(settings, say)
    except (PolicyRefused, BadSettings) as error:
        fail(str(error))
    except ValidationError as error:
        fail("\n".join(told(fault) for fault in error.errors(include_url=False)))


def told(fault: "ErrorDetails") -> str:
    """A setting's fault in a line; what is of several, or of a variable that is no JSON, names them in its message."""
    where, message = ".".join(map(str, fault["loc"])), fault["msg"]
    hint = "; lists and groups are JSON" if "error parsing value" in message else ""
    return f"setting {where}: {message}" if where else f"settings: {message}{hint}"


def refuse_taken_port(host: str, port: int, otherwise: str) -> None:
    """Find out before models are loaded whether the address can be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            fail(f"cannot listen on {host}:{port}: {error.strerror}; {otherwise}", code=1)
