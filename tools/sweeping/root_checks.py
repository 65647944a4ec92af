"""What is run inside the roots: bash with errexit and pipefail, in an empty folder of a fresh overlay each.

Whatever a check writes is gone after it, so what it prints has to be the same each time.
"""

C_PROGRAM = r"""
cat > program.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *sum(void *values) { long s = 0; for (int i = 0; i < 5; i++) s += ((int *)values)[i]; return (void *)s; }
int main(void) {
  int values[] = {5, 3, 1, 4, 2};
  pthread_t thread; void *s;
  qsort(values, 5, sizeof *values, compare);
  pthread_create(&thread, NULL, sum, values); pthread_join(thread, &s);
  printf("%d %d %ld\n", values[0], values[4], (long)s);
}
END
"""

CHECKS = {
    "shell": r"""
        echo "$BASH_VERSION"; f() { local n=$1; ((n < 2)) && echo 1 || echo $((n * $(f $((n - 1))))); }; f 10
        seq 20000 | sort -rn | sha256sum; printf 'b 2\na 1\n' | sort | awk '{ s += $2 } END { print s }'
        ! diff <(echo a) <(echo b); find /etc -type f | wc -l; ls /usr/bin | wc -l; id; date -u -d @0""",
    "archives": r"""
        tar -C / -cf etc.tar etc
        gzip -9 <etc.tar | gunzip | cmp - etc.tar; xz -0 <etc.tar | xz -d | tar -tf - | wc -l""",
    "apt and dpkg": r"""
        apt --version; apt-get --version; apt-cache policy bash; apt-cache show hello | grep -E '^(Package|Version)'
        dpkg -l; dpkg -S /bin/bash; apt-get -s install hello""",
    "apt-get install": r"""
        apt-get install -qq -y --no-download hello >/dev/null 2>&1; hello; dpkg -s hello
        apt-get purge -qq -y hello >/dev/null 2>&1; ! test -e /usr/bin/hello""",
    "gcc": C_PROGRAM + r"""
        gcc --version; gcc -O2 -g -Wall -o program program.c && ./program
        gcc -static -o program-static program.c && ./program-static
        gcc -flto -O3 -o program-lto program.c && ./program-lto
        echo 'int f(int x) { return x * 41 + 1; }' | gcc -O2 -S -x c - -o - | sha256sum; ld --version; as --version
        readelf -hW program | grep -E 'Type|Machine'; strip program && ./program""",
    "g++, exceptions": r"""
        cat > program.cpp <<'END'
        #include <algorithm>
        #include <iostream>
        #include <regex>
        #include <stdexcept>
        struct Guard { ~Guard() { std::cout << "unwound\n"; } };
        int main() {
          std::vector<int> v{3, 1, 2};
          try { Guard guard; std::sort(v.begin(), v.end(), [](int, int) -> bool { throw 3; }); }
          catch (int i) { std::cout << "caught " << i << '\n'; }
          try { Guard guard; std::regex("("); }
          catch (const std::regex_error& error) { std::cout << error.what() << '\n'; }
          try { Guard guard; std::cout << std::string("abc").at(7); }
          catch (const std::out_of_range& error) { std::cout << error.what() << '\n'; }
        }
END
        g++ -O2 -o program program.cpp && ./program""",
    "python3": r"""
        cat > program.py <<'END'
        import ctypes, hashlib, json, lzma, math, re, ssl, sqlite3, subprocess, sys, threading, zlib
        print(sys.version, ssl.OPENSSL_VERSION, sqlite3.sqlite_version)
        for name in ("sha256", "sha3_512", "blake2b", "md5"):
            print(name, hashlib.new(name, b"x" * 100000).hexdigest())
        print(json.loads(json.dumps({"a": [1, 2.5, None, "\u00e9"]})))
        print(zlib.crc32(lzma.decompress(lzma.compress(b"abc" * 999))))
        print(subprocess.run(["sh", "-c", "echo out; exit 3"], capture_output=True))
        table = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 9) select sum(x) from c"
        print(sqlite3.connect(":memory:").execute(table).fetchall())
        print(ctypes.CDLL(None).strlen(b"four"), re.findall(r"(\w)\1", "aabbcd"), math.factorial(50))
        total = []
        threads = [threading.Thread(target=lambda n=n: total.append(sum(range(n)))) for n in (10, 100, 1000)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(sorted(total))
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
        ctypes.CDLL(None).qsort(numbers, 5, 4, compare(lambda a, b: a[0] - b[0]))
        print(list(numbers))
END
        sed 's/^        //' program.py | python3 -""",
    "TLS in python3": r"""
        openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=localhost -addext \
            subjectAltName=DNS:localhost 2>/dev/null
        cat > program.py <<'END'
        import socket, ssl, threading
        listener = socket.create_server(("127.0.0.1", 0))
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server.load_cert_chain("cert", "key")
        def serve():
            with server.wrap_socket(listener.accept()[0], server_side=True) as connection:
                connection.sendall(connection.recv(100)[::-1])
        thread = threading.Thread(target=serve); thread.start()
        client = ssl.create_default_context(cafile="cert")
        with client.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost") as end:
            end.sendall(b"hello")
            print(end.version(), end.cipher(), end.recv(100))
        thread.join()
        print(len(ssl.create_default_context().get_ca_certs()), "authorities")
END
        sed 's/^        //' program.py | python3 -""",
    "perl": r"""
        perl -MSocket -MPOSIX -MData::Dumper -e '
            print "$^V ", POSIX::floor(3.7), " ", POSIX::strftime("%Y", gmtime 0), "\n";
            my %count; $count{$1}++ while "the cat and the dog" =~ /\b(\w)\w*/g;
            $Data::Dumper::Sortkeys = 1; print Dumper \%count;
            socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
            syswrite $a, "through\n"; print scalar <$b>;
            print inet_ntoa(inet_aton("127.0.0.1")), "\n"; eval { die { code => 7 } }; print $@->{code}, "\n";
            local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select undef, undef, undef, 3;
            print join(",", sort { $a <=> $b } map { $_ ** 2 } -3 .. 3), "\n"'""",
    "git": r"""
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        export GIT_AUTHOR_DATE='@1 +0000' GIT_COMMITTER_DATE='@1 +0000'
        git init -q -b main one; cd one; cp -r /etc/apt .; git add .; git commit -q -m first; git log --stat
        seq 100 > numbers; git add .; git commit -q -m second; git gc -q; git fsck --full; cd ..
        git clone -q one two; cd two; git log --oneline; git diff HEAD~ | sha256sum; git rev-parse HEAD""",
    "gdb": C_PROGRAM + r"""
        gcc -g -O0 -o program program.c
        gdb -nx -batch -ex 'break compare' -ex run -ex bt -ex 'info sharedlibrary' -ex 'info line' -ex up -ex up \
            -ex 'delete' -ex 'break sum' -ex continue -ex bt -ex finish -ex continue ./program 2>&1 |
            sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/LWP [0-9]+/LWP N/g'""",
    "dpkg-deb": r"""
        mkdir -p package/DEBIAN package/usr/share/x
        printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' \
            > package/DEBIAN/control
        echo content > package/usr/share/x/file
        find package -exec touch -d @0 {} +; SOURCE_DATE_EPOCH=0 dpkg-deb --root-owner-group -b package x.deb
        sha256sum x.deb; dpkg-deb -c x.deb; dpkg -i x.deb >/dev/null 2>&1; cat /usr/share/x/file; dpkg -L x""",
}
# Needs the network: run only if it works in the root as it was.
NETWORK_CHECKS = {
    "apt-get update": "apt-get update -qq 2>&1 && apt-cache policy hello",
}
