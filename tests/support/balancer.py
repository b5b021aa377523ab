"""nginx with deploy/nginx.conf, in front of replicas on loopback."""

import re
import subprocess
from pathlib import Path

from servers import free_port, wait_for_port

CONF = Path(__file__).parents[2] / "deploy/nginx.conf"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Balancer:
    """Addresses and file locations are adapted to this machine, and there is a line for each replica; nothing else."""

    def __init__(self, program: str, folder: Path, *replica_ports: int) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        text = re.sub(
            r"(?: *server replica-\d:8080 (.*)\n)+",
            lambda found: "".join(f"server 127.0.0.1:{each} {found[1]}\n" for each in replica_ports),
            CONF.read_text(),
        )
        text = text.replace("listen 8080;", f"listen 127.0.0.1:{self.port};").replace("/tmp/nginx.pid", f"{folder}/pid")
        text = text.replace("/dev/stdout", f"{folder}/access.log")
        text = text.replace("http {", "http { " + "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in _TEMPORARY))
        (folder / "nginx.conf").write_text(text)
        self._access = folder / "access.log"
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr", "-g", "daemon off;"]
        self.process = subprocess.Popen(command)
        wait_for_port(self.port, self.process)

    @property
    def log(self) -> str:
        return self._access.read_text()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
