"""Reading the environment: a value is right or the start stops with one sentence.

It knows types and addresses, not what a setting is for. `settings` is its only caller. Messages
never repeat an address, because it may hold a password.
"""

import importlib.util
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import psycopg
from psycopg.conninfo import conninfo_to_dict

from runtime.core.errors import SignalboxError

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_SOURCE = re.compile(r"[A-Za-z0-9_.-]{1,100}")
#: Desktops name Chinese by country, catalogues by script.
_SCRIPTS = {
    "zh": "zh-hans",
    "zh-cn": "zh-hans",
    "zh-sg": "zh-hans",
    "zh-tw": "zh-hant",
    "zh-hk": "zh-hant",
}
_DJANGO_NAMES = {
    "dbname": "NAME",
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
}


class SettingRefused(SignalboxError):
    """A variable of the environment has a value we cannot start with."""

    http_status = 500
    exit_code = 2
    code = "setting_refused"

    def __init__(self, name: str, wanted: str) -> None:
        super().__init__(name, wanted)
        self.name = name
        self.wanted = wanted

    def __str__(self) -> str:
        return f"The environment variable {self.name} must be {self.wanted}."


class Environment:
    """Typed access to one environment; an empty value counts as unset."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str, default: str) -> str:
        """The value, without blanks around it."""
        return self._variables.get(name, "").strip() or default

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no.

        Raises:
            SettingRefused: It is neither.
        """
        word = self.text(name, "1" if default else "0").lower()
        if word not in TRUE | FALSE:
            raise SettingRefused(name, f"one of 1, 0, true, false, yes, no, on, off, not {word!r}")
        return word in TRUE

    def listing(self, name: str, default: list[str]) -> list[str]:
        """Values separated by commas."""
        found = [part.strip() for part in self.text(name, "").split(",") if part.strip()]
        return found or default

    def number(self, name: str, default: float, *, above: float) -> float:
        """A number greater than `above`.

        Raises:
            SettingRefused: It is no number, or not greater.
        """
        word = self.text(name, str(default))
        try:
            value = float(word)
        except ValueError:
            value = float("nan")
        if not above < value < float("inf"):
            raise SettingRefused(name, f"a number greater than {above:g}, not {word!r}")
        return value

    def address(self, name: str, default: str, schemes: tuple[str, ...]) -> str:
        """An address with one of the schemes.

        Raises:
            SettingRefused: It has another scheme.
        """
        value = self.text(name, default)
        if not value.startswith(schemes):
            raise SettingRefused(name, f"an address that starts with {' or '.join(schemes)}")
        return value

    def pattern(self, name: str, placeholder: str) -> str:
        """A web address in which a placeholder stands in braces; empty when unset.

        Raises:
            SettingRefused: It is no such address, or holds other braces.
        """
        value = self.text(name, "")
        rest = value.replace(f"{{{placeholder}}}", "")
        fits = value.startswith(("http://", "https://")) and rest != value
        if value and (not fits or set(rest) & set("{}")):
            wanted = f"an address with http:// or https:// that holds {{{placeholder}}} and no {{}}"
            raise SettingRefused(name, wanted)
        return value

    def origins(self, name: str) -> list[str]:
        """Web origins separated by commas.

        Raises:
            SettingRefused: One lacks its scheme.
        """
        found = self.listing(name, [])
        for origin in found:
            if not origin.startswith(("http://", "https://")):
                raise SettingRefused(name, f"origins with http:// or https://, not {origin!r}")
        return found

    def secrets(self, name: str) -> dict[str, tuple[str, ...]]:
        """Secrets as `source=secret`, separated by commas; a source may have several at once.

        Raises:
            SettingRefused: One is not written so; the message repeats none of it.
        """
        found: dict[str, tuple[str, ...]] = {}
        for item in self.listing(name, []):
            source, _, secret = item.partition("=")
            if not _SOURCE.fullmatch(source) or not secret:
                raise SettingRefused(name, "pairs such as callback=secret, separated by commas")
            found[source] = (*found.get(source, ()), secret)
        return found

    def apps(self, name: str) -> list[str]:
        """Importable Django applications separated by commas.

        Raises:
            SettingRefused: One cannot be found.
        """
        found = list(dict.fromkeys(self.listing(name, [])))
        for app in found:
            if not _importable(app):
                raise SettingRefused(name, f"a list of importable Django apps; {app!r} is not one")
        return found

    def time_zone(self, name: str) -> str:
        """A time zone's name.

        Raises:
            SettingRefused: This machine does not know it.
        """
        value = self.text(name, "UTC")
        try:
            known = value == "UTC" or bool(ZoneInfo(value).key)
        except (ValueError, OSError, KeyError):
            known = False
        if not known:
            raise SettingRefused(name, f"a time zone such as Europe/Berlin, not {value!r}")
        return value

    def language(self, name: str, known: Mapping[str, str]) -> str:
        """A language's code; the lists that desktops put there (`de_DE:en`) are understood.

        Raises:
            SettingRefused: None of those named is known.
        """
        value = self.text(name, "en")
        for word in value.split(":"):
            code = word.partition(".")[0].replace("_", "-").lower()
            for candidate in (code, _SCRIPTS.get(code, ""), code.partition("-")[0]):
                if candidate in known:
                    return candidate
            if code in {"c", "posix"}:
                return "en"
        raise SettingRefused(name, f"a language code such as en or de, not {value!r}")


def database(name: str, address: str) -> dict[str, Any]:
    """Turn a PostgreSQL address into Django's settings; what Django has no name for is an option.

    Raises:
        SettingRefused: It is no address of a PostgreSQL database.
    """
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise SettingRefused(name, "an address like postgresql://user@host/database") from error
    if not parts.get("dbname"):
        raise SettingRefused(name, "an address that names a database, like postgresql://host/name")
    options = {key: value for key, value in parts.items() if key not in _DJANGO_NAMES}
    named = {ours: str(parts.get(theirs, "")) for theirs, ours in _DJANGO_NAMES.items()}
    return {"ENGINE": "django.db.backends.postgresql", **named, "OPTIONS": options}


def storage(name: str, address: str) -> dict[str, Any]:
    """Turn a folder, `file://` or `s3://bucket/prefix` into a Django storage.

    Raises:
        SettingRefused: It is another kind of address, or S3's library is missing.
    """
    parts = urlsplit(address) if "://" in address else urlsplit(f"file://{address}")
    if parts.scheme == "file":
        location = unquote(parts.path) if "://" in address else address
        modes = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        backend = "django.core.files.storage.FileSystemStorage"
        return {"BACKEND": backend, "OPTIONS": {"location": location, **modes}}
    if parts.scheme != "s3" or not parts.netloc:
        raise SettingRefused(name, "a folder, file:///folder or s3://bucket/prefix")
    if importlib.util.find_spec("boto3") is None:
        raise SettingRefused(name, "a folder until boto3 is installed, which s3:// needs")
    options = {"bucket_name": parts.netloc, "location": parts.path.strip("/")}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def _importable(app: str) -> bool:
    for name in (app, app.rpartition(".")[0].rpartition(".")[0]):  # a module, or an AppConfig in it
        try:
            if name and importlib.util.find_spec(name) is not None:
                return True
        except ModuleNotFoundError:
            continue
    return False
