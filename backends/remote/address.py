"""Where the API of a server lies, from what people write as its base URL."""

import re

from backends.transport import Origin, locate

_VERSION = re.compile(r"/v\d+[a-z0-9]*$")


def api_base(url: str) -> tuple[Origin, str]:
    """Origin and path of the API, with its version: /v1 is added where no version ends the path. Raises ValueError.

    >>> [api_base(url)[1] for url in ("http://u", "http://u/v1/", "http://u/openai")]
    ['/v1', '/v1', '/openai/v1']
    """
    origin, path = locate(re.sub(r"(?<!:)//+", "/", url))
    return origin, path if _VERSION.search(path) else f"{path}/v1"
