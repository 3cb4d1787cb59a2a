"""Settings of production: what Django's own check for a deployment finds, it finds nothing."""

import secrets
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


def test_the_settings_of_a_public_installation_pass_the_check_for_deployment(
    child_environ: dict[str, str],
) -> None:
    public = {
        "ALLOWED_HOSTS": "box.example",
        "CSRF_TRUSTED_ORIGINS": "https://box.example",
        "SECRET_KEY": secrets.token_urlsafe(60),
    }

    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=PROJECT,
        env={**child_environ, **public},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
