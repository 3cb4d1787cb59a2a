"""The layers of ARCHITECTURE.md hold: import-linter's contracts in pyproject.toml are kept."""

import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def test_every_import_contract_is_kept() -> None:
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert program is not None

    done = subprocess.run(
        [program, "--no-cache"], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
