"""TLS on the fast transport: a trusted certificate carries, an unknown one is told from a lost answer."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from upstreams.fake_upstream import fake_upstream, json_reply, sse_reply, text_chunk

from backends.transport import FastTransport, HttpRequest, TransportError, locate


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate of this test, and is not installed")
    made = tmp_path_factory.mktemp("tls") / "both.pem"
    command = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
    command += f" -addext subjectAltName=IP:127.0.0.1 -keyout {made} -out {made}.crt"
    subprocess.run(command.split(), check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + Path(f"{made}.crt").read_bytes())
    return made


@pytest.fixture
def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_requests_over_tls_share_a_connection(server_side: ssl.SSLContext, certificate: Path) -> None:
    fast = FastTransport(tls=ssl.create_default_context(cafile=f"{certificate}.crt"))
    async with fake_upstream(json_reply({"a": 1}), sse_reply(text_chunk("x")), tls=server_side) as upstream:
        pieces = []
        for _ in range(2):
            response = await fast.open(HttpRequest("POST", locate(upstream.base)[0], "/"), 2.0)
            pieces.append(await response.read())
            while await response.read():
                pass
            await response.aclose()
        await fast.aclose()

        assert (pieces, upstream.connections) == ([b'{"a":1}', text_chunk("x")], 1)


async def test_a_certificate_that_nobody_vouches_for_is_no_connection(server_side: ssl.SSLContext) -> None:
    fast = FastTransport()
    async with fake_upstream(json_reply({}), tls=server_side) as upstream:
        with pytest.raises(TransportError, match="not trusted") as failure:
            await fast.open(HttpRequest("POST", locate(upstream.base)[0], "/"), 2.0)

        assert (failure.value.kind, failure.value.sent, upstream.received) == ("unreachable", False, [])
        await fast.aclose()
