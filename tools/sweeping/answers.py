"""Asks programs for --version or --help, as they were and converted, and compares status, output and errors.

Each run is a world of its own: namespaces for mounts, processes, network and IPC, user nobody without any capability,
empty /tmp, /run and /dev/shm, limits on time and output. The converted files lie over the originals as an overlay at
/usr, so a converted program has its own path and finds its own files, and uses the converted libraries as well.
"""
import os
import resource
import signal
import subprocess
import tempfile

# The user nobody may not do what these do. Still, they are not started.
NEVER_RUN = {"halt", "init", "kexec", "poweroff", "reboot", "runlevel", "shutdown", "telinit"}
OPTIONS = ("--version", "--help")
SECONDS = 10
OUTPUT_BYTES = 8 << 20
NOBODY = "65534"

ENTER = ["unshare", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
# $1 is the layer over /usr; the rest is the command.
SET_UP = """
mount -t overlay -o "lowerdir=$1:/usr" overlay /usr || exit 125
for folder in /tmp /var/tmp /run /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$folder" || exit 125; done
cd /tmp || exit 125
shift
exec setpriv --reuid %s --regid %s --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all -- "$@"
""" % (NOBODY, NOBODY)
ENVIRONMENT = {"HOME": "/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


def text_of(output):
    """Go's protobuf decides between two kinds of space by a digest of the program, so that no caller relies on either."""
    return output.replace("\u00a0".encode(), b" ")


CANNOT_BE_EXECUTED = 126  # of shells and setpriv


def ask(layer, *command, seconds=SECONDS):
    """(status, output, errors), or None if it does not end."""
    command = [*ENTER, "sh", "-c", SET_UP, "sh", layer, *command]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=ENVIRONMENT,
                                   preexec_fn=limit, start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None
        output.seek(0)
        errors.seek(0)
        return status, text_of(output.read()), text_of(errors.read())


def check_worlds(layer, empty, path):
    """That a program is the converted one in one world and the original in the other, or nothing here could fail."""
    for world, file in ((layer, layer.removesuffix("/usr") + path), (empty, path)):
        answer = ask(world, "stat", "--format=%s", path)
        if answer != (0, f"{os.path.getsize(file)}\n".encode(), b""):
            raise SystemExit(f"sweep: the overlay at /usr does not show {file} as {path}: {describe(answer)}")


def original_answer(empty, path):
    """The option it knows, --version or --help or None, and what it says to that; if to none, then to --help."""
    answer = None
    for option in OPTIONS:
        answer = ask(empty, path, option)
        if answer is not None and answer[0] == 0 and answer[1] + answer[2]:
            return option, answer
    return None, answer


def describe(answer):
    if answer is None:
        return "does not end"
    status, output, errors = answer
    return f"status {status}, output {output[:200]!r}, errors {errors[:200]!r}"


def compare(layer, empty, path):
    """(which kind of answer, what differs or None)"""
    if os.path.basename(path) in NEVER_RUN:
        return "not run", None
    option, answer = original_answer(empty, path)
    if answer is None:
        return "not comparable: the original does not end", None
    # Of a program with file capabilities, which none may have here. Its copy has none, and runs.
    if answer[0] == CANNOT_BE_EXECUTED:
        return "not comparable: the original cannot be run", None
    if answer != ask(empty, path, option or OPTIONS[-1]):
        return "not comparable: the original answers differently each time", None
    # The machine may be busy: only the original's time is limited tightly.
    converted = ask(layer, path, option or OPTIONS[-1], seconds=6 * SECONDS)
    if converted != answer:
        if any(ask(empty, path, option or OPTIONS[-1], seconds=6 * SECONDS) != answer for _ in range(5)):
            return "not comparable: the original answers differently each time", None
        return "differs", f"{option}: {describe(converted)}, but the original: {describe(answer)}"
    return f"{option} as before" if option else "supports neither; the same error as before", None
