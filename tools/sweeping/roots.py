"""Small Debian systems in folders, made by debootstrap, for tests that need a whole one. Needs root."""
import os
import shutil
import subprocess
import sys

# $1 the root, $2 an empty folder, $3 the command, $4 what it finds in its working folder ("" for nothing).
ENTER = """
set -e
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
cd "$2/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys  # perf records nothing without it
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mknod -m 666 dev/null c 1 3; mknod -m 666 dev/zero c 1 5; mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8; mknod -m 666 dev/urandom c 1 9; mknod -m 666 dev/tty c 5 0
ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd
ip link set lo up 2>/dev/null || true
mkdir w
if [ -n "$4" ]; then cp -r "$4/." w; fi
exec env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \\
    chroot . /bin/bash -lc "set -eo pipefail; cd /w; $3"
"""


def enter(root, command, seconds=300, brought=""):
    """Runs a command in a root, whose files stay as they are, in a folder with a copy of what `brought` holds.
    (status, output and errors)"""
    world = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=SIGKILL"]
    empty = root + ".mounted"
    os.makedirs(empty, exist_ok=True)
    try:
        done = subprocess.run([*world, "sh", "-c", ENTER, "sh", root, empty, command, brought],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, b"does not end"
    return done.returncode, done.stdout


def own_suite():
    with open("/etc/os-release") as file:
        return dict(line.strip().split("=", 1) for line in file if "=" in line)["VERSION_CODENAME"].strip('"')


def mirror():
    """Where this machine's apt has its own suite from, and so the others of Debian too."""
    targets = subprocess.run(["apt-get", "indextargets", "--no-release-info", "--format",
                              "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [line.split()[0] for line in targets.splitlines() if line.split()[1:] == [own_suite(), "main"]]
    found.sort(key=lambda address: not address.rstrip("/").endswith("/debian"))
    if not found:
        sys.exit(f"roots: apt has no source of suite {own_suite()}, component main")
    return found[0]


def make(root, suite, packages, also=(), keyring=None, log=sys.stderr):
    """Fills a new folder with the suite's smallest system, packages on top, and what the commands of `also` do. The
    folder is there afterwards, complete, or not at all."""
    new = root + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(os.path.dirname(root), exist_ok=True)
    trusted = ["--keyring=" + keyring] if keyring else []
    subprocess.run(["debootstrap", "--variant=minbase", *trusted, suite, new, mirror()], stdin=subprocess.DEVNULL,
                   stdout=log, stderr=log, check=True)
    if os.path.exists("/etc/resolv.conf"):
        shutil.copy("/etc/resolv.conf", new + "/etc/resolv.conf")
    with open(new + "/etc/apt/apt.conf.d/90host", "w") as file:  # a proxy, if the machine needs one
        acquire = subprocess.run(["apt-config", "dump", "Acquire"], stdout=subprocess.PIPE, text=True, check=True).stdout
        # Not what apt-file wants: lists of all files of a suite take longer than its packages.
        file.writelines(line for line in acquire.splitlines(True) if "::IndexTargets" not in line)
        # A half-made root is thrown away: nothing needs to be on the disk at any moment.
        file.write('DPkg::Options:: "--force-unsafe-io";\n')
    # debootstrap itself cannot choose among alternative dependencies.
    fill = ["apt-get update -q", f"apt-get install -q -y --no-install-recommends {packages}", "apt-get clean", *also]
    subprocess.run(["unshare", "--mount", "sh", "-c", "mount -t proc proc \"$1/proc\" && exec env -i LC_ALL=C.UTF-8 "
                    "DEBIAN_FRONTEND=noninteractive PATH=/usr/bin:/usr/sbin chroot \"$1\" sh -c \"$2\"", "sh", new,
                    " && ".join(fill)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
    os.rename(new, root)
