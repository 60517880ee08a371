"""All contenders by name, in the order in which tables show them."""

from __future__ import annotations

from bench.peers.archives import RsyncLinks, TarZstd
from bench.peers.backups import Borg, Restic
from bench.peers.gemini import GeminiCli
from bench.peers.opencode import Opencode
from bench.peers.packages import RewindAi, Stepback
from bench.peers.peer import Peer
from bench.peers.shadow import ShadowRepository

OURS = "rewind"
# Not a tool, but the least that looking at every file costs (bench/floor.py).
FLOOR = "stat walk"
PEERS: dict[str, type[Peer]] = {
    "opencode": Opencode,
    "gemini-cli": GeminiCli,
    "shadow-git": ShadowRepository,
    "stepback": Stepback,
    "rewind-ai": RewindAi,
    "tar-zstd": TarZstd,
    "rsync": RsyncLinks,
    "restic": Restic,
    "borg": Borg,
}
