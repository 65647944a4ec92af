"""Real work for programs of other machines, without children: the kernel starts no program of another machine. Each function
gets `program(name, argument..., VARIABLE=value...)`, which runs one of the root's programs, and a folder; it returns what
was printed, which does not differ from run to run."""
import os

from harness import write


def bash(program, place):
    write(os.path.join(place, "script"), r"""
set -euo pipefail
trap 'echo "exit trap: $?"' EXIT
trap 'echo "signal trap"' USR1
declare -A count=()
add() { local word; for word in "$@"; do count[$word]=$(( ${count[$word]:-0} + 1 )); done; }
fibonacci() { (( $1 < 2 )) && echo "$1" || echo $(( $(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2))) )); }
add one two two three three three
for word in one two three; do echo "$word ${count[$word]}"; done
list=(a b "c d"); echo "${#list[@]} ${list[@]: -1} ${list[*]^^}"
echo "fibonacci $(fibonacci 6)"
kill -USR1 $$
while read -r n; do (( n % 100 )) || printf '%s ' "$n"; done < <(for ((i = 0; i < 1000; ++i)); do echo "$i"; done)
[[ "key=value" =~ ^([a-z]+)=(.*)$ ]] && printf '%s|%q\n' "${BASH_REMATCH[@]:1}" "it's"
(exit 7) || echo "status $?"
cat() { while read -r line; do echo "$line"; done; }
cat <<< "${BASH_VERSION%%.*}"
deep() { (( $1 == 0 )) && echo "bottom" || deep $(($1 - 1)); }
deep 300
""")
    return program("bash", "script")


def coreutils(program, place):
    write(os.path.join(place, "text"), "".join(f"{i * 7919 % 1009} line {i}\n" for i in range(2000)))
    os.utime(os.path.join(place, "text"), (0, 0))
    out = program("ls", "-l", "--time-style=long-iso", ".")
    for command in ("sort -n text", "sha256sum text", "md5sum text", "wc text",
                    "base64 -w 60 text", "factor 1234567890123456789", "expr 6 * 7",
                    "od -t x1z text", "seq 1 0.5 20", "date -u -d @1700000000", "tac text",
                    "numfmt --to=iec 123456789", "cksum text", "cat -A text"):
        out += program(*command.split())
    return out


def git(program, place):
    environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": ""}
    for who in "AUTHOR", "COMMITTER":
        environment |= {f"GIT_{who}_NAME": "A", f"GIT_{who}_EMAIL": "a@b.org", f"GIT_{who}_DATE": "1700000000 +0000"}

    def run_git(*arguments):
        # What would start another git in the background.
        return program("git", "-c", "gc.auto=0", "-c", "maintenance.auto=false", *arguments, **environment)

    out = run_git("--version") + run_git("init", "-q", "-b", "main", ".")
    for i in range(5):
        write(os.path.join(place, f"file{i % 3}"), f"line {i}\n" * (i + 10))
        out += run_git("add", ".") + run_git("commit", "-qm", f"Change {i}")
    out += run_git("checkout", "-qb", "side", "HEAD~2")
    write(os.path.join(place, "other"), "other\n")
    out += run_git("add", ".") + run_git("commit", "-qm", "Aside") + run_git("merge", "-q", "--no-edit", "main")
    out += run_git("log", "--stat", "--graph", "--patch") + run_git("blame", "file1") + run_git("grep", "-n", "line 4")
    return out + run_git("fsck", "--full", "--strict") + run_git("rev-parse", "HEAD", "main")


def ninja(program, place):
    write(os.path.join(place, "build.ninja"), """
rule cp
  command = cp $in $out
build b: cp a
build c: cp b
build all: phony c
""")
    write(os.path.join(place, "a"), "content\n")
    out = program("ninja", "--version") + program("ninja", "-t", "targets", "all")
    return out + program("ninja", "-n", "-v") + program("ninja", "-t", "rules")


def openssl(program, place):
    write(os.path.join(place, "text"), "some text\n" * 1000)
    out = ""
    for command in ("version", "dgst -sha256 text", "dgst -sha3-512 text", "dgst -blake2b512 text", "prime 1000003",
                    "enc -aes-256-cbc -K 00 -iv 00 -a -in text", "enc -chacha20 -K 00 -iv 00 -a -in text",
                    "passwd -6 -salt salt word", "ciphers -v DEFAULT",
                    "genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key", "pkey -in key -pubout -out public",
                    "dgst -sha256 -sign key -out signature text", "dgst -sha256 -verify public -signature signature text"):
        out += program("openssl", *command.split())
    return out


def perl(program, place):
    write(os.path.join(place, "script.pl"), r"""
use strict; use warnings; use POSIX ":sys_wait_h"; use List::Util "sum"; $| = 1;
my $text = join " ", map { "word$_" } 1..2000;
my %seen; $seen{$1}++ while $text =~ /word(\d)/g;
print join(",", map { "$_=$seen{$_}" } sort { $seen{$b} <=> $seen{$a} || $a <=> $b } keys %seen), "\n";
print join(" ", (sort { $a <=> $b } map { ($_ * 7919) % 1009 } 1..1000)[0..9]), "\n";
my @children = map { my $i = $_; my $pid = fork; die unless defined $pid; exit $i unless $pid; $pid } 1..3;
print sum(map { waitpid $_, 0; $? >> 8 } @children), "\n";
eval { die { code => 42 } }; print "died $@->{code}\n";
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; select undef, undef, undef, 20; }; print $@;
my $nested = qr/(\((?:[^()]++|(?1))*\))/; print "$1\n" if "f(a(b)c(d(e)))" =~ $nested;
sub deep { my $n = shift; return $n ? 1 + deep($n - 1) : 0 } no warnings "recursion"; print deep(500), "\n";
printf "%s %05.2f %x\n", scalar reverse("abc"), 3.14159, 255;
""")
    return program("perl", "script.pl")


def python3(program, place):
    write(os.path.join(place, "script.py"), r"""
import bz2, concurrent.futures, ctypes, decimal, hashlib, json, lzma, os, re, socket, sqlite3, ssl, threading, zlib
text = json.dumps({"list": list(range(100)), "nested": {"a": [1.5, None, True, "ü"]}}, sort_keys=True)
assert json.loads(text)["nested"]["a"][3] == "ü"
print(hashlib.sha256(text.encode()).hexdigest(), hashlib.new("sha3_512", b"x").hexdigest()[:16])
for packer in zlib, bz2, lzma:
    packed = packer.compress(text.encode() * 100)
    print(len(packed), packer.decompress(packed) == text.encode() * 100)
def deep(n):
    try:
        return deep(n - 1) if n else 1 // 0
    finally:
        threading.get_ident()
try: deep(200)
except ZeroDivisionError as error: print("caught", error)
try: (lambda f: f(f))(lambda f: f(f))
except RecursionError as error: print("caught", type(error).__name__)
with concurrent.futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(lambda i: i * i, range(200))))
print(ssl.create_default_context().verify_mode.name, ssl.OPENSSL_VERSION)
a, b = socket.socketpair(); a.sendall(b"hello"); print(b.recv(10))
print(re.findall(r"(\w+)@(\w+)\.org", "me@here.org you@there.org"), decimal.Decimal(2).sqrt())
child = os.fork() or os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
base = sqlite3.connect(":memory:")
base.execute("create table t (n integer, s text)")
base.executemany("insert into t values (?, ?)", ((i, str(i) * 3) for i in range(100)))
print(base.execute("select sum(n), max(s) from t where n % 7 = 3").fetchall())
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
ctypes.CDLL(None).qsort(numbers, 5, 4, compare(lambda x, y: x[0] - y[0])); print(list(numbers))
""")
    return program("python3.11", "script.py")
