"""A network of its own for one process, as a pod has it, from which some ports of this one are reached as its own.

Rally's processes on one network meet at one fixed port, so that two races at the same time need two networks. Nothing
is routed: what comes to a port there goes through a socket in a folder to the same port here.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = "127.0.0.1"
CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8914, 1  # of Linux' sched.h, sockios.h and if.h


@contextmanager
def another_pod(folder: Path, ports: Sequence[int]) -> Iterator[Callable[[int], list[str]]]:
    """Yield what makes of one more port the words before a command that is to run in a network of its own."""
    folder.mkdir()
    holders: list[subprocess.Popen[bytes]] = []

    def prefix(port: int) -> list[str]:
        for each in (*ports, port):
            _pass_on(_listening(folder / str(each)), lambda each=each: socket.create_connection((HERE, each)))
        words = [sys.executable, __file__, str(folder), *map(str, (*ports, port))]
        holders.append(subprocess.Popen(words, stdout=subprocess.PIPE))
        ready = holders[-1].stdout
        assert ready is not None and ready.readline() == b"ready\n"
        return ["nsenter", f"--net=/proc/{holders[-1].pid}/ns/net"]

    try:
        yield prefix
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def _listening(path: Path) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.bind(str(path))
    found.listen(64)
    return found


def _pass_on(server: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Connect whoever comes to a server with another one, in threads."""

    def serve() -> None:
        while True:
            client, _ = server.accept()
            try:
                other = connect()
            except OSError:
                client.close()
                continue
            for one, two in ((client, other), (other, client)):
                threading.Thread(target=_copy, args=(one, two), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # one side was closed: the other one hears it
        for each in (source, sink):
            each.close()


def _to(path: Path) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.connect(str(path))
    return found


def main() -> None:
    """Hold a network in which these ports lead through the folder's sockets."""
    folder, ports = Path(sys.argv[1]), list(map(int, sys.argv[2:]))
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network of its own: run these tests as root")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
    for port in ports:
        _pass_on(socket.create_server((HERE, port), backlog=64), lambda port=port: _to(folder / str(port)))
    print("ready", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)


if __name__ == "__main__":
    main()
