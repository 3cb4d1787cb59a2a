"""Django's settings, all from the environment.

A wrong value stops the start with one sentence. Nothing here starts a service: where no address is
given, the embedded services' addresses are computed.
"""

import os
from pathlib import Path
from typing import Any

from django.conf import global_settings
from django.utils.csp import CSP

from console import env
from console.embedded.places import database_url, valkey_url
from console.embedded.services import data_dir_of
from console.secret import derived, kept_secret

_env = env.Environment(os.environ)
_LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
_VALKEY_SCHEMES = ("redis://", "rediss://", "unix://")

BASE_DIR = Path(__file__).resolve().parent.parent
SIGNALBOX_DATA_DIR = data_dir_of(os.environ)

# --- who may talk to us -------------------------------------------------------------------------

DEBUG = _env.flag("DEBUG", default=False)
ALLOWED_HOSTS = _env.listing("ALLOWED_HOSTS", _LOCAL_HOSTS)
CSRF_TRUSTED_ORIGINS = _env.origins("CSRF_TRUSTED_ORIGINS")
SECRET_KEY = _env.text("SECRET_KEY", "")
if not SECRET_KEY and not DEBUG and set(ALLOWED_HOSTS) - set(_LOCAL_HOSTS):
    # Several machines must share the key; one that each made for itself would split them.
    raise env.SettingRefused("SECRET_KEY", "set when ALLOWED_HOSTS names more than this machine")
SECRET_KEY = SECRET_KEY or kept_secret(SIGNALBOX_DATA_DIR)

# --- what we talk to ----------------------------------------------------------------------------

DATABASE_URL = _env.address("DATABASE_URL", database_url(SIGNALBOX_DATA_DIR), env.POSTGRES_SCHEMES)
DATABASE_DIRECT_URL = _env.address("DATABASE_DIRECT_URL", DATABASE_URL, env.POSTGRES_SCHEMES)
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        **env.database("DATABASE_URL", DATABASE_URL),
        "CONN_MAX_AGE": 0,
        # A pooler in front hands each transaction another server, where a named cursor is unknown.
        "DISABLE_SERVER_SIDE_CURSORS": DATABASE_DIRECT_URL != DATABASE_URL,
    },
}
VALKEY_URL = _env.address("VALKEY_URL", valkey_url(SIGNALBOX_DATA_DIR), _VALKEY_SCHEMES)
BROKER_URL = _env.address("BROKER_URL", VALKEY_URL, (*_VALKEY_SCHEMES, "amqp://", "amqps://"))

# --- how the runtime behaves --------------------------------------------------------------------

SIGNALBOX_APPS = _env.apps("SIGNALBOX_APPS")
SIGNALBOX_LEASE_S = _env.number("SIGNALBOX_LEASE_S", 15.0, above=0.2)
SIGNALBOX_ARTIFACTS = _env.text("SIGNALBOX_ARTIFACTS", str(SIGNALBOX_DATA_DIR / "artifacts"))
# Who starts the servers that a drill breaks; the runtime does not know the console.
SIGNALBOX_SERVERS = "console.embedded.ensure"
# The demo that the first page offers; which it is, the console does not know either.
SIGNALBOX_DEMO = "runtime.examples.aftersales.visitors"
# Where a tracing system shows a trace, like https://traces.example.org/trace/{trace_id}.
SIGNALBOX_TRACE_URL = _env.pattern("SIGNALBOX_TRACE_URL", "trace_id")
# Who asks every page for `bench dashboard`, and keeps pages open for `bench live`.
SIGNALBOX_DASHBOARD = "console.bench.pages.measure_pages"
SIGNALBOX_LIVE_PAGES = "console.bench.live.keep_open"
SIGNALBOX_WEBHOOK_SECRETS = _env.secrets("SIGNALBOX_WEBHOOK_SECRETS")
# Signed with the secrets named `callback`, else with one made of the installation's own.
SIGNALBOX_CALLBACK_SECRETS = SIGNALBOX_WEBHOOK_SECRETS.get("callback") or (
    derived(SECRET_KEY, "callback"),
)
# While only this machine may talk to us, receivers on it may be told of the end of tasks.
SIGNALBOX_CALLBACKS_LOCAL = _env.flag(
    "SIGNALBOX_CALLBACKS_LOCAL", default=DEBUG or not set(ALLOWED_HOSTS) - set(_LOCAL_HOSTS)
)

# --- Django -------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "channels",
    "django_htmx",
    "memory",
    "runtime",
    "runtime.examples.aftersales",
    "console",
    *SIGNALBOX_APPS,
]
MIDDLEWARE = [
    "console.middleware.RequestId",
    "console.http.edge.api_edge",
    "django.middleware.security.SecurityMiddleware",
    "console.static_files.StaticFiles",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.live.known.Recognise",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "console.middleware.Personal",
    "console.guard.AccessMiddleware",
]
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.pages.frame.frame",
            ],
            "builtins": ["console.templatetags.signalbox"],
        },
    },
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "artifacts": env.storage("SIGNALBOX_ARTIFACTS", SIGNALBOX_ARTIFACTS),
}
STATIC_URL = "static/"
# Served by ourselves, straight from the applications: there is no build step to forget.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 0
WHITENOISE_ALLOW_ALL_ORIGINS = False
USE_TZ = True
TIME_ZONE = _env.time_zone("TIME_ZONE")
# What the pages are complete in; a person's choice or browser comes before the installation's.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
_language = _env.language("LANGUAGE", dict(global_settings.LANGUAGES))
LANGUAGE_CODE = _language if _language in dict(LANGUAGES) else "en"
LOCALE_PATHS = [BASE_DIR / "console" / "locale"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 26 * 1024 * 1024

# --- live updates -------------------------------------------------------------------------------

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            "hosts": [VALKEY_URL],
            "prefix": "signalbox",
        },
    },
}

# --- what browsers are told ---------------------------------------------------------------------

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],  # the QR code of two-factor sign-in
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
# Beyond this machine the console is reached through HTTPS only.
_PUBLIC = not DEBUG and bool(set(ALLOWED_HOSTS) - set(_LOCAL_HOSTS))
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _PUBLIC
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if _PUBLIC else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _PUBLIC

# --- signing in ---------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "console.signin.Accounts"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_SESSION_REMEMBER = True
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Signalbox"
