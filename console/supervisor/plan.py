"""Which processes `up` runs, with which environment. Values only; it starts nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from console.supervisor.child import Spec

#: Where the demo's agent finds its shop.
SHOP_VARIABLE = "SIGNALBOX_SHOP_URL"
WEB, WORKER, SWEEP, SHOP = range(4)
WEB_GRACE_S = 8.0
WORKER_GRACE_S = 15.0
#: People wait for the console, and its work begins with the workers.
LATER_S = 2.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `up` was asked for.

    Args:
        host: Where the web server listens.
        port: Its port.
        processes: Workers.
        threads: Of each worker.
        shop_port: Where the demo's shop listens; None without a demo.
    """

    host: str
    port: int
    processes: int
    threads: int
    shop_port: int | None

    @property
    def address(self) -> str:
        """The address that a browser on this machine takes."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{host}:{self.port}"


def specs(wanted: Wanted) -> Iterator[Spec]:
    """Name the processes, the most urgent first."""
    address = ["--host", wanted.host, "--port", str(wanted.port)]
    yield Spec("web", ["web", *address], WEB, WEB_GRACE_S, reloads=True)
    for number in range(1, wanted.processes + 1):
        arguments = ["worker", "--threads", str(wanted.threads)]
        yield Spec(f"worker-{number}", arguments, WORKER, WORKER_GRACE_S, reloads=True)
    yield Spec("sweep", ["sweep"], SWEEP, delay_s=LATER_S)
    if wanted.shop_port is not None:
        shop = ["shop", "--port", str(wanted.shop_port)]
        yield Spec("shop", shop, SHOP, delay_s=LATER_S)


def environ(ours: Mapping[str, str], services: Mapping[str, str], wanted: Wanted) -> dict[str, str]:
    """Give the environment of all processes: ours, and where the services are."""
    shop = {}
    if wanted.shop_port is not None:
        shop[SHOP_VARIABLE] = f"http://127.0.0.1:{wanted.shop_port}"
    return {**ours, **services, **shop, "PYTHONUNBUFFERED": "1"}
