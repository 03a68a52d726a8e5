"""Who is measured: Turnout with everything on, the plain proxy, and whoever else is found. Each a process on one core."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadtests.overhead import upstream as mock
from loadtests.overhead.cores import Cores
from loadtests.overhead.wire import KEY
from loadtests.servers import Server, free_port, running, turnout, uvicorn

MODELS = """policy: 1
models:
  small:
    at: ["{upstream}/v1", "{other}/v1"]
    serves: m
    price: {{input: $0.05/M, output: $0.20/M}}
  large:
    at: ["{upstream}/large/v1", "{other}/large/v1"]
    serves: m
    price: {{input: $3/M, output: $15/M}}
routes:
"""

BY_DIFFICULTY = (
    MODELS
    + """  - name: default
    choose: {{by: difficulty, among: [small, large], target: {{cost: 40% of large}}, when_unsure: large}}
conversations: {{may_move: up}}
"""
)

BY_NAME = (
    MODELS
    + """  - {{name: default, use: small, fallback: [large]}}
"""
)
"""The same without a classifier: nothing of this process is a model."""

NGINX = """daemon off;
master_process off;
pid {folder}/pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  client_body_buffer_size 256k;
  keepalive_requests 1000000;
  upstream mock {{ server {host}; keepalive 1024; keepalive_requests 1000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
    }}
  }}
}}
"""

READY_S = 120.0


@dataclass(frozen=True)
class Upstream:
    """The same mock at two ports, as two replicas. The first is the one that everybody else is put before."""

    url: str
    other: str


@dataclass(frozen=True)
class Contender:
    """A running server, and the seconds from its start to its first 200."""

    server: Server
    startup_s: float


Command = Callable[[Upstream, int, Path], tuple[list[str], dict[str, str], str]]
"""Arguments, environment and the path that answers 200 when it is ready; of a port and a folder to write to."""


def ours(policy: str) -> Command:
    """Keys, prefix affinity between two replicas, prices, metrics, one trace in a hundred, a line of log for each request."""

    def command(upstream: Upstream, port: int, folder: Path) -> tuple[list[str], dict[str, str], str]:
        file, keys = folder / "policy.yaml", folder / "keys.json"
        file.write_text(policy.format(upstream=upstream.url, other=upstream.other))
        keys.write_text(json.dumps([{"hash": hashlib.sha256(KEY.encode()).hexdigest(), "tenant": "acme"}]))
        env = {
            "TURNOUT_KEYS_FILE": str(keys),
            "TURNOUT_TELEMETRY__TRACES": "otlp",
            "TURNOUT_TELEMETRY__SAMPLED": "0.01",
            "TURNOUT_TELEMETRY__OTLP_ENDPOINT": upstream.url,
        }
        return turnout(str(file), port), env, "/readyz"

    return command


def plain(upstream: Upstream, port: int, folder: Path) -> tuple[list[str], dict[str, str], str]:
    return uvicorn("loadtests.peers.starlette_httpx:app", port), {"UPSTREAM": upstream.url + "/v1"}, "/healthz"


def nginx(path: str) -> Command:
    def command(upstream: Upstream, port: int, folder: Path) -> tuple[list[str], dict[str, str], str]:
        config = folder / "nginx.conf"
        host = upstream.url.removeprefix("http://")
        config.write_text(NGINX.format(folder=folder, host=host, port=port))
        return [path, "-c", str(config), "-p", str(folder)], {}, "/healthz"

    return command


def router(path: str, policy: str, *verbs: str) -> Command:
    """A router of vLLM's or SGLang's, over both replicas."""

    def command(upstream: Upstream, port: int, folder: Path) -> tuple[list[str], dict[str, str], str]:
        where = ["--host", "127.0.0.1", "--port", str(port), "--prometheus-port", str(free_port())]
        workers = ["--worker-urls", upstream.url, upstream.other, "--policy", policy, "--log-level", "error"]
        return [path, *verbs, *where, *workers], {}, "/health"

    return command


def litellm(path: str) -> Command:
    def command(upstream: Upstream, port: int, folder: Path) -> tuple[list[str], dict[str, str], str]:
        config = folder / "litellm.json"  # which is YAML too
        at = {"model": "openai/m", "api_base": upstream.url + "/v1", "api_key": "k"}
        config.write_text(json.dumps({"model_list": [{"model_name": "auto", "litellm_params": at}]}))
        arguments = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
        return [path, *arguments], {}, "/health/liveliness"

    return command


KNOWN: Mapping[str, tuple[str, Callable[[str], Command]]] = {
    "nginx": ("nginx", nginx),
    "sglang_cache": ("sglang-router", lambda path: router(path, "cache_aware", "launch")),
    "vllm_rr": ("vllm-router", lambda path: router(path, "round_robin")),
    "vllm_cache": ("vllm-router", lambda path: router(path, "cache_aware")),
    "litellm": ("litellm", litellm),
}
"""Peers by name: the program, and how it is started."""


def found(paths: Mapping[str, str]) -> dict[str, Command]:
    """Everybody who can be started here. `paths` tells where a program is that is not on the PATH, by its name."""
    peers: dict[str, Command] = {"turnout": ours(BY_DIFFICULTY), "plain_httpx": plain}
    for name, (program, start) in KNOWN.items():
        path = paths.get(program) or shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
        if path:
            peers[name] = start(path)
    return peers


@contextmanager
def upstream(cores: Cores) -> Iterator[Upstream]:
    """Two processes on the core of who asks."""
    with ExitStack() as stack:
        urls = []
        for _ in range(2):
            port = free_port()
            with cores.asking():
                server = stack.enter_context(running("upstream", mock.command(port), port))
            urls.append(server.url)
        yield Upstream(*urls)


@contextmanager
def started(name: str, command: Command, behind: Upstream, folder: Path, cores: Cores) -> Iterator[Contender]:
    """Raises RuntimeError when it does not get ready."""
    port = free_port()
    home = folder / name
    home.mkdir()
    arguments, env, ready = command(behind, port, home)
    with ExitStack() as stack:
        with cores.answering():
            began = time.perf_counter()
            server = stack.enter_context(running(name, arguments, port, env=env, ready=ready, within_s=READY_S))
            took = time.perf_counter() - began
        yield Contender(server, took)
