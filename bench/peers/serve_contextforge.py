"""ContextForge with its own settings, but for its limits of rate, on SQLite in the folder it is started in.

python serve_contextforge.py PORT
python serve_contextforge.py token
"""

import os
import sys
from pathlib import Path

SETTINGS = {
    "AUTH_REQUIRED": "true",
    "BASIC_AUTH_PASSWORD": "changeme-of-the-benchmark",
    "CACHE_TYPE": "memory",
    "DATABASE_URL": f"sqlite:///{Path.cwd() / 'contextforge.db'}",
    "HOST": "127.0.0.1",
    "JWT_SECRET_KEY": "a-secret-of-the-benchmark-that-guards-nothing",
    "LOG_LEVEL": "ERROR",
    "MCPGATEWAY_ADMIN_API_ENABLED": "true",
    "MCPGATEWAY_UI_ENABLED": "false",
    "PLATFORM_ADMIN_EMAIL": "bench@example.com",
    "PLATFORM_ADMIN_PASSWORD": "Changeme-123!",
    "PLUGINS_ENABLED": "false",
    "RATE_LIMITING_ENABLED": "false",
    "SSRF_PROTECTION_ENABLED": "false",
}

if __name__ == "__main__":
    os.environ.update(SETTINGS)
    if sys.argv[1] == "token":
        words = [
            "-m",
            "mcpgateway.utils.create_jwt_token",
            "--username",
            "bench@example.com",
            "--admin",
            "--exp",
            "600",
        ]
        os.execv(sys.executable, [sys.executable, *words])
    gateway = str(Path(sys.executable).parent / "mcpgateway")
    os.execv(gateway, [gateway, "--host", "127.0.0.1", "--port", sys.argv[1]])
