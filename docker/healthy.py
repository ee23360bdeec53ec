"""The container's health check: the web process answers `/healthz`."""

import os
import sys
from urllib.request import urlopen

port = os.environ.get("PORT", "8000")
with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=4) as answer:
    sys.exit(answer.status != 200)
