"""Settings, all from the environment; what is not set works on one machine without any server.

`DATABASE_URL` unset means SQLite in `REVIEWHUB_VAR`; `REDIS_URL` (or `CELERY_BROKER_URL`) unset means Celery on
the file system. `docs/settings.md` lists every variable.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from reviewhub import env
from reviewhub.verdicts import webhooks

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = Path(env.text("REVIEWHUB_VAR", str(BASE_DIR / "var")))
PRODUCTION = env.flag("REVIEWHUB_PRODUCTION")
DEBUG = False


def _secret_key() -> str:
    """The secret from the environment, or (outside production) from a key file of this installation."""
    from reviewhub.ops.keyfile import read_or_make

    given = env.text("SECRET_KEY")
    if given or PRODUCTION:
        if len(given) < 32:
            raise env.BadSetting("SECRET_KEY needs at least 32 characters in production")
        return given
    return read_or_make(VAR / "keys" / "django-secret")


SECRET_KEY = _secret_key()
# Private keys that sign the record; kept apart from the database and its backups.
AUDIT_KEYS = Path(env.text("AUDIT_KEYS", str(VAR / "keys" / "audit")))
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "" if PRODUCTION else "127.0.0.1,localhost,[::1],testserver")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
PUBLIC_URL = env.text("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "channels",
    "django_htmx",
    "csp",
    "reviewhub.core",
    "reviewhub.audit",
    "reviewhub.accounts",
    "reviewhub.runs",
    "reviewhub.tools",
    "reviewhub.plans",
    "reviewhub.checkpoints",
    "reviewhub.policies",
    "reviewhub.budgets",
    "reviewhub.toolcalls",
    "reviewhub.verdicts",
    "reviewhub.deliveries",
    "reviewhub.resumptions",
    "reviewhub.limits",
    "reviewhub.standing",
    "reviewhub.reviews",
    "reviewhub.gates",
    "reviewhub.hosting",
    "reviewhub.insights",
    "reviewhub.retention",
    "reviewhub.api",
    "reviewhub.web",
    "reviewhub.live",
    "reviewhub.ops",
]

MIDDLEWARE = [
    "reviewhub.api.request_id.RequestId",
    "reviewhub.api.host.KnownHost",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "reviewhub.web.reader.ReaderZone",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "reviewhub.urls"
ASGI_APPLICATION = "reviewhub.asgi.application"

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
            ],
            "builtins": ["reviewhub.web.templatetags.rh"],
        },
    },
]


def _database(url: str, password: str = "") -> dict[str, object]:
    """Django's database settings for a postgresql:// or sqlite:/// address; the password may come apart from it."""
    if not url:
        url = f"sqlite:///{VAR / 'reviewhub.sqlite3'}"
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": parts.path[1:],
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # NORMAL can lose a consumed grant at power loss; recursive_triggers is the second guard of append-only
                # rows against INSERT OR REPLACE, the first one holds on connections without it, too; secure_delete
                # overwrites what is freed, or an erased text would stand in the file until its place is used again.
                "init_command": (
                    "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA recursive_triggers=ON;"
                    "PRAGMA foreign_keys=ON;PRAGMA secure_delete=ON;"
                ),
            },
            # A file, since worker processes and threads of the tests must see the same rows.
            "TEST": {"NAME": str(VAR / "test.sqlite3")},
        }
    if parts.scheme in {"postgres", "postgresql"}:
        if password and parts.password:
            raise env.BadSetting("DATABASE_URL has a password and DATABASE_PASSWORD gives another one")
        options = dict(parse_qsl(parts.query))
        pooler = options.pop("pooler", "")
        if pooler not in {"", "transaction"}:
            raise env.BadSetting(f"DATABASE_URL names a pooler in mode {pooler!r}; known is transaction")
        if not pooler:
            # PgBouncer refuses a connection that asks for any of these; there the role has them (docs/settings.md).
            # To compile a query costs seconds where the database takes it for a large one, and none here runs as long.
            asked = "-c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000 -c jit=off"
            options = {"options": asked, **options}
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path[1:]),
            "USER": unquote(parts.username or ""),
            "PASSWORD": password or unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": 60,
            "CONN_HEALTH_CHECKS": True,
            # The next part of one would be asked for on another connection.
            "DISABLE_SERVER_SIDE_CURSORS": bool(pooler),
            "OPTIONS": options,
        }
    raise env.BadSetting(f"DATABASE_URL with scheme {parts.scheme!r} is not supported")


DATABASES = {"default": _database(env.text("DATABASE_URL"), env.text("DATABASE_PASSWORD"))}
DATABASE_APP_ROLE = env.text("DATABASE_APP_ROLE")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.Person"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/signin"
LOGIN_REDIRECT_URL = "/"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", str(VAR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
# Until `collectstatic` ran (tests, a fresh checkout) files are served from where they lie.
WHITENOISE_USE_FINDERS = not (STATIC_ROOT / "staticfiles.json").exists()
if WHITENOISE_USE_FINDERS and not PRODUCTION:
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise warns about a folder that is not there
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "reviewhub.web.storage.HashedStorage"},
}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
CSRF_COOKIE_HTTPONLY = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if PRODUCTION:
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = env.flag("SECURE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]
    SECURE_HSTS_SECONDS = env.number("SECURE_HSTS_SECONDS", 31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    # No SECURE_PROXY_SSL_HEADER: it would believe any visitor. The server takes scheme and address from the proxies
    # named in FORWARDED_ALLOW_IPS, and from nobody else.

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "reviewhub.api.authentication.AgentKeyAuthentication",
        "reviewhub.api.authentication.PersonAuthentication",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["reviewhub.api.authentication.KeyThrottle"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "reviewhub.api.openapi.ApiSchema",
    "EXCEPTION_HANDLER": "reviewhub.api.problems.handle",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_THROTTLE_RATES": {"agent": env.text("THROTTLE_AGENT", "6000/min")},
}
SPECTACULAR_SETTINGS = {
    "TITLE": "ReviewHub",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    # Fields named `kind` that mean different things.
    "ENUM_NAME_OVERRIDES": {
        "DifferenceKind": ["added", "removed", "changed"],
        "StepDifferenceKind": ["added", "removed", "moved", "changed"],
    },
}

REDIS_URL = env.text("REDIS_URL")
CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", REDIS_URL or "filesystem://")

EMAIL_BACKEND = env.text("EMAIL_BACKEND", "django.core.mail.backends.filebased.EmailBackend")
EMAIL_FILE_PATH = env.text("EMAIL_FILE_PATH", str(VAR / "mail"))
EMAIL_HOST = env.text("EMAIL_HOST", "localhost")
EMAIL_PORT = env.number("EMAIL_PORT", 25)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS")
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "ReviewHub <reviewhub@localhost>")

# Limits of the API; every refusal names the limit and the value.
LIMIT_BODY_BYTES = env.number("LIMIT_BODY_BYTES", 10_000_000)
LIMIT_BODY_SECONDS = env.number("LIMIT_BODY_SECONDS", 60)
LIMIT_BUFFERED_BYTES = env.number("LIMIT_BUFFERED_BYTES", 200_000_000)
# Pages and schemas walk down a value by calls within calls, of which Python allows so many.
LIMIT_DEPTH = env.number("LIMIT_DEPTH", 100, most=200)
LIMIT_TOOL_CALLS = env.number("LIMIT_TOOL_CALLS", 20)
LIMIT_ARGUMENTS_BYTES = env.number("LIMIT_ARGUMENTS_BYTES", 1_000_000)
# Reading, checking, masking and hashing a call costs some microseconds for each value.
LIMIT_ARGUMENTS_VALUES = env.number("LIMIT_ARGUMENTS_VALUES", 10_000)
LIMIT_TEXT_BYTES = env.number("LIMIT_TEXT_BYTES", 64_000)
LIMIT_STATE_BYTES = env.number("LIMIT_STATE_BYTES", 64_000_000)
LIMIT_PLAN_STEPS = env.number("LIMIT_PLAN_STEPS", 200)
LIMIT_PLAN_BYTES = env.number("LIMIT_PLAN_BYTES", 200_000)
# How many requests of one agent may wait for people; a policy may say less.
LIMIT_WAITING_REQUESTS = env.number("LIMIT_WAITING_REQUESTS", 10_000)
LIMIT_WAIT_SECONDS = env.number("LIMIT_WAIT_SECONDS", 60)
DATA_UPLOAD_MAX_MEMORY_SIZE = LIMIT_BODY_BYTES

# What one field of a state may weigh, and what one checkpoint may add to it, before people and the agent are warned;
# 0: any number. About 128,000 and 32,000 tokens.
BUDGET_FIELD_BYTES = env.number("BUDGET_FIELD_BYTES", 512_000)
BUDGET_STEP_BYTES = env.number("BUDGET_STEP_BYTES", 128_000)

WSGI_THREADS = env.number("WSGI_THREADS", 8)
GRANT_SECONDS = env.number("GRANT_SECONDS", 3600)
LEASE_SECONDS = env.number("LEASE_SECONDS", 60)
SWEEP_SECONDS = env.number("SWEEP_SECONDS", 5)
# Retention: what holds where no rule is set (0: keep everything), and how it goes about it.
RETENTION_THIN_DAYS = env.number("RETENTION_THIN_DAYS", 30)
RETENTION_BATCH_ROWS = env.number("RETENTION_BATCH_ROWS", 500)
# What a gigabyte (10^9 bytes) costs a month where it lies; dry runs multiply with it.
STORAGE_PRICES = env.amounts("STORAGE_PRICES", "database=0.12")
CLAIM_SECONDS = env.number("CLAIM_SECONDS", 600)

# Where large blobs go that no open branch needs: "name=address", separated by commas, the first one gets them.
BLOB_STORES = env.pairs("BLOB_STORES")
BLOB_LARGE_BYTES = env.number("BLOB_LARGE_BYTES", 65_536)
BLOB_TIMEOUT_SECONDS = env.number("BLOB_TIMEOUT_SECONDS", 5)

# Agents that workers can run, by name: "name=module:attribute", separated by commas. Only what stands here is imported.
HOSTED_GRAPHS = {
    "support": "reviewhub_agents.demos.support:support",
    "migration": "reviewhub_agents.demos.migration:migration",
    "claims": "reviewhub_agents.demos.claims:claims",
    "outreach": "reviewhub_agents.demos.outreach:outreach",
    "triage": "reviewhub_agents.demos.triage:triage",
    **env.pairs("HOSTED_GRAPHS"),
}
# Where the policy is kept as a file; `{workspace}` in it stands for the workspace's short name. The policy page says
# when it and the policy in force differ.
POLICY_FILE = env.text("POLICY_FILE")
# Who shows it may read /metrics; without one there is no such page.
METRICS_TOKEN = env.text("METRICS_TOKEN")
if METRICS_TOKEN and len(METRICS_TOKEN) < 16:
    raise env.BadSetting("METRICS_TOKEN needs at least 16 characters")
# So often a waking may fail at one place (an error of the agent, a worker that died) before its branch is set aside.
RESUME_ATTEMPTS = env.number("RESUME_ATTEMPTS", 8)
# Webhooks that judge calls: a JSON list of {name, of, url, judges?, seconds?, gate?, private?, workspace?}.
try:
    VERIFIERS = webhooks.read(env.text("VERIFIERS"))
except ValueError as error:
    raise env.BadSetting(f"VERIFIERS: {error}") from error
# What models cost, "NAME:input=price" and "NAME:output=price" of a million tokens; and what a run may spend and how
# many seconds it may work, where nobody said otherwise (0: any).
MODEL_PRICES = env.amounts("MODEL_PRICES")
RUN_SPEND_LIMIT = env.number("RUN_SPEND_LIMIT", 0)
RUN_TIME_LIMIT = env.number("RUN_TIME_LIMIT", 0)
# How long a worker that was told to stop lets its steps run before it gives their branches back.
DRAIN_SECONDS = env.number("DRAIN_SECONDS", 10)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("LOG_LEVEL", "INFO")},
}
