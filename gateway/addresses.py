"""Hosts and ports as people and URLs write them."""

from ipaddress import ip_address


def is_loopback(name: str) -> bool:
    """Whether a host name or an address, without brackets, is this machine's own for every resolver.

    >>> [is_loopback(name) for name in ("LOCALHOST", "127.8.8.8", "::1", "127.0.0.1.example", "0.0.0.0")]
    [True, True, True, False, False]
    """
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def bracketed(host: str) -> str:
    """As a URL has it.

    >>> bracketed("::1"), bracketed("10.0.0.1")
    ('[::1]', '10.0.0.1')
    """
    return f"[{host}]" if ":" in host else host


def url_of(host: str, port: int) -> str:
    """
    >>> url_of("::1", 8080)
    'http://[::1]:8080'
    """
    return f"http://{bracketed(host)}:{port}"
