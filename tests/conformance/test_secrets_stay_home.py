"""Keys never appear in what the gateway says of itself: logs, traces, metrics, answers."""

from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import fake_upstream, json_reply, unused_port

from gateway.settings import Telemetry

CANARIES = ("kA-secret-1234", "ck-wrong-abcdef", "ck-good-abcdef")
LOUD = Telemetry(log="json", traces="console")
BODY = {"model": "m", "messages": [{"role": "user", "content": "a prompt that nobody else shall read"}]}


@pytest.mark.parametrize("failing", ["wrong key", "upstream fails", "upstream is away"])
async def test_no_key_and_no_prompt_is_told(
    failing: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_A", "kA-secret-1234\r\n")
    keys = tmp_path / "keys.yaml"
    keys.write_text("- {hash: 1ce50be7c7b4ebc1d7ba3d4c8aa7b9a8f4c0d0ad1d9d6ad8d5c1a0d4d7d8d9d0, tenant: t}\n")
    settings = {"keys_file": keys} if failing == "wrong key" else {}
    echo = json_reply({"error": {"message": "Bearer kA-secret-1234 failed"}}, 500)
    async with fake_upstream(echo) as upstream:
        base = f"http://127.0.0.1:{unused_port()}" if failing == "upstream is away" else upstream.base
        policy = f"policy: 1\nmodels: {{m: {{at: '{base}/v1', key: 'env:KEY_A'}}}}\nroutes: [{{use: m}}]\n"
        async with (
            running_gateway(policy, tmp_path, telemetry=LOUD, **settings) as gateway,
            httpx.AsyncClient(timeout=10) as client,
        ):
            presented = "ck-wrong-abcdef" if failing == "wrong key" else "ck-good-abcdef"
            headers = {"authorization": f"Bearer {presented}"}
            answer = await client.post(f"{gateway.base}/v1/chat/completions", json=BODY, headers=headers)
            pages = [(await client.get(gateway.base + path)).text for path in ("/metrics", "/readyz", "/v1/models")]

    captured = capfd.readouterr()
    told = captured.out + captured.err + answer.text + str(answer.headers) + "".join(pages)
    assert answer.status_code in (401, 500, 502)
    assert "req_" in captured.out + captured.err, "nothing was logged"
    for canary in (*CANARIES, "nobody else shall read"):
        assert canary not in told
