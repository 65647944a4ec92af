"""A file system that keeps those waiting who ask it."""
import ctypes
import os
import struct
import threading
import time


class SilentFiles:
    """A file system (FUSE) that has one program under any name. It answers all but the recorder, who opens it: after
    `delay` seconds, or never. With `forgets`, it answers no question for a name, nor that a question is over. With
    `opens`, the recorder can open it, but not read it."""

    def __init__(self, folder, content, delay=None, forgets=False, opens=False):
        self.folder, self.content, self.delay, self.forgets, self.opens = folder, content, delay, forgets, opens
        if not os.path.exists("/dev/fuse"):
            os.mknod("/dev/fuse", 0o20600, os.makedev(10, 229))  # as in a container; the kernel loads what serves it
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if ctypes.CDLL(None, use_errno=True).mount(b"silent", folder.encode(), b"fuse", 0, options.encode()) != 0:
            os.close(self.device)
            raise OSError(ctypes.get_errno(), "mount")
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        """Those that wait are told so; more than once does nothing."""
        if self.device is not None:
            ctypes.CDLL(None).umount2(self.folder.encode(), 3)  # MNT_FORCE, MNT_DETACH
            os.close(self.device)
            self.device = None

    def attributes(self, node):
        mode, size = (0o40755, 0) if node == 1 else (0o100755, len(self.content))
        return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def is_recorder(self, process):
        with open(f"/proc/{process}/comm", encoding="utf-8") as name:
            return name.read().startswith("sframe-trace")

    def answer(self, kind, node, process, body):
        if kind == 26:  # FUSE_INIT
            return struct.pack("<IIIIHHII28x", 7, 31, 0, 0, 0, 0, 4096, 1)
        if kind == 1:  # FUSE_LOOKUP
            if self.forgets:
                return None
            number = 2 + int(body.rstrip(b"\0"))
            return struct.pack("<QQQQII", number, 0, 3600, 3600, 0, 0) + self.attributes(number)
        if kind == 3:  # FUSE_GETATTR
            return struct.pack("<QII", 3600, 0, 0) + self.attributes(node)
        if kind == 17:  # FUSE_STATFS
            return struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
        if kind == 14:  # FUSE_OPEN
            is_recorder = self.is_recorder(process)
            if is_recorder and self.delay is not None:
                time.sleep(self.delay)
            return None if is_recorder and self.delay is None and not self.opens else bytes(16)
        if kind == 15:  # FUSE_READ
            if self.opens and self.is_recorder(process):
                return None
            offset, size = struct.unpack_from("<8xQI", body)
            return self.content[offset:offset + size]
        return b"" if kind in (18, 25) else 38  # FUSE_RELEASE, FUSE_FLUSH; ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except (OSError, TypeError):  # closed
                return
            _, kind, unique, node, _, _, process, _ = struct.unpack_from("<IIQQIIII", request)
            if kind in (2, 42):  # FUSE_FORGET and FUSE_BATCH_FORGET have no answer.
                continue
            if kind == 36 and self.forgets:
                continue
            if kind == 36:  # FUSE_INTERRUPT, once the recorder ends
                unique, = struct.unpack_from("<Q", request, 40)
                answer = 4  # EINTR
            else:
                answer = self.answer(kind, node, process, request[40:])
            if answer is None:
                continue
            error, answer = (-answer, b"") if isinstance(answer, int) else (0, answer)
            try:
                os.write(self.device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)
            except (OSError, TypeError):  # The question was taken back, or all is closed.
                pass
