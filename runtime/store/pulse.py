"""Signs of life of the installation's processes; also the proof that the database takes writes."""

from runtime.store.session import execute

SWEEP = "sweep"
READY = "ready"


def beat(name: str) -> None:
    """Leave a sign of life: a real write, committed by itself."""
    execute(
        "INSERT INTO runtime_pulse (name, at) VALUES (%s, runtime_now()) "
        "ON CONFLICT (name) DO UPDATE SET at = EXCLUDED.at",
        (name,),
    )


def age_s(name: str) -> float | None:
    """Give the seconds since the last sign of life, by the database's clock; None without any."""
    text = (
        "SELECT extract(epoch FROM runtime_now() - at)::float8 FROM runtime_pulse WHERE name = %s"
    )
    rows = execute(text, (name,))
    return float(rows[0][0]) if rows else None
