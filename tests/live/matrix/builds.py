"""What the matrix converts: the probe, linked in many ways."""
import dataclasses
import itertools
import os
import random

from harness import read, run, tool, without_section_headers, write
from matrix.targets import PROBE

# Values of each factor, the usual one first, with the options that give it. A linker that is not named cannot do it.
ALL = ("bfd", "gold", "lld", "mold")
FACTORS = {
    "code": {"": dict.fromkeys(ALL, ""),
             "separate": {"bfd": "-z separate-code", "lld": "-z separate-code", "mold": "-z separate-code"},
             "noseparate": {"bfd": "-z noseparate-code", "lld": "-z noseparate-code", "mold": "-z noseparate-code"},
             "rosegment": {"gold": "--rosegment"},
             "norosegment": {"lld": "--no-rosegment", "mold": "--no-rosegment"}},
    "page": {"": dict.fromkeys(ALL, ""),
             **{size: dict.fromkeys(ALL, f"-z max-page-size={number}")
                for size, number in (("4k", 0x1000), ("16k", 0x4000), ("64k", 0x10000), ("2m", 0x200000))}},
    "relro": {"": dict.fromkeys(ALL, ""), "norelro": dict.fromkeys(ALL, "-z norelro"),
              "now": dict.fromkeys(ALL, "-z now")},
    "hash": {"": dict.fromkeys(ALL, ""), "sysv": dict.fromkeys(ALL, "--hash-style=sysv"),
             "both": dict.fromkeys(ALL, "--hash-style=both")},
    "id": {"": dict.fromkeys(ALL, "--build-id"), "noid": dict.fromkeys(ALL, "--build-id=none")},
    "relr": {"": dict.fromkeys(ALL, ""),
             "relr": {"bfd": "-z pack-relative-relocs", "mold": "-z pack-relative-relocs"}},
    "extra": {"": dict.fromkeys(ALL, ""), "gc": dict.fromkeys(ALL, "--gc-sections"),
              "omagic": {"bfd": "-N", "gold": "-N", "lld": "-N", "mold": "-N"}},
    # More than the gaps hold: another plan.
    "size": {"": "", "many": "-DMANY"},
    "bss": {"": "", "hugebss": "-DHUGE_BSS"},
    "tls": {"": "", "notls": "-DNO_TLS"},
    # What another tool did to the program before it came to us.
    "before": {"": (), "stripped": ("strip",), "patchelf": ("patchelf", "--set-rpath", "$ORIGIN/" + "x" * 300),
               "nonotes": ("objcopy", "-R", ".note.*"), "dwz": ("dwz",), "sstripped": ("sstrip",),
               "nosections": ("llvm-objcopy", "--strip-sections")},
}
# Without section headers, PT_GNU_EH_FRAME leads to .eh_frame, and gcc does not ask for one in static programs.
WITHOUT_SECTIONS = ("sstripped", "nosections")
# What may be refused hides what stands beside it.
ALONE = (("code", "rosegment"), ("before", "patchelf"))
MOST_TOGETHER = 6
LINKER_FACTORS = ("code", "page", "relro", "hash", "id", "relr", "extra")
KINDS = {"pie": ["-fPIE", "-pie"], "exec": ["-fno-pie", "-no-pie"], "static": ["-fno-pie", "-no-pie", "-static"],
         "static-pie": ["-fPIE", "-static-pie"], "dso": ["-fPIC", "-shared", "-DLIBRARY", "-Wl,-soname,libprobe.so"]}


@dataclasses.dataclass(frozen=True)
class Build:
    linker: str  # or the name of a program that is built otherwise
    kind: str
    factors: tuple = ()  # (factor, value), the unusual ones

    def __str__(self):
        return " ".join(part for part in (self.linker, self.kind, *(value for _, value in self.factors)) if part)

    def value(self, factor):
        return dict(self.factors).get(factor, "")


def is_possible(linker, kind, factors):
    values = dict(factors)
    if any(linker not in FACTORS[name][value] for name, value in values.items() if name in LINKER_FACTORS):
        return False
    static = kind in ("static", "static-pie")
    if static and (values.get("before") == "patchelf" or values.get("hash") or values.get("relr")):
        return False
    return not (kind == "exec" and values.get("relr"))


def all_builds(target):
    names = list(FACTORS)
    for linker, kind in itertools.product(target.linkers, target.kinds):
        for values in itertools.product(*(FACTORS[name] for name in names)):
            factors = tuple((n, v) for n, v in zip(names, values) if v)
            if is_possible(linker, kind, factors):
                yield Build(linker, kind, factors)


def sample_of_all(target, count):
    """So many of all builds, drawn without making their list, of nearly a million: the same for each run."""
    chosen = random.Random(4)
    drawn = {}
    while len(drawn) < count:
        factors = tuple((name, chosen.choice(list(values))) for name, values in FACTORS.items())
        build = Build(chosen.choice(target.linkers), chosen.choice(target.kinds), tuple(f for f in factors if f[1]))
        if is_possible(build.linker, build.kind, build.factors):
            drawn[build] = None
    return list(drawn)


def plain_builds(target):
    plain = [(("size", value),) if value else () for value in FACTORS["size"]] + [(("before", "sstripped"),)]
    return [Build(linker, kind, factor)
            for factor, linker, kind in itertools.product(plain, target.linkers, target.kinds)]


def single_builds(target):
    """One factor at a time, for each linker; kinds take turns."""
    builds = []
    for linker in target.linkers:
        turn = itertools.count()
        for name, values in FACTORS.items():
            for value in values:
                kinds = [k for k in target.kinds if value and is_possible(linker, k, ((name, value),))]
                if kinds:
                    builds.append(Build(linker, kinds[next(turn) % len(kinds)], ((name, value),)))
    return builds


def is_hopeless(linker, kind, factors):
    """Debian 12's linkers do not make it, or not so that it runs."""
    return ((linker, kind) == ("gold", "static-pie") or (linker == "mold" and ("relr", "relr") in factors) or
            (("extra", "omagic") in factors and (linker, kind) not in (("mold", "static"), ("mold", "static-pie"))))


def few_builds(target):
    """Each value of each factor with each linker that knows it, some values in one build; each linker's first kind, and
    those kinds that it has not had, plainly. The same for each run."""
    builds = []
    for turn, linker in enumerate(target.linkers):
        def can_be(kind, *factors, linker=linker):
            return is_possible(linker, kind, factors) and not is_hopeless(linker, kind, factors)
        missing = [(name, value) for name, values in FACTORS.items() for value in values
                   if value and any(can_be(kind, (name, value)) for kind in target.kinds)]
        kinds = itertools.cycle(target.kinds[turn:] + target.kinds[:turn])
        while missing:
            kind, together = next(kinds), {}
            # From the end: only one tool at a time can have been there before us, and these are most.
            for name, value in reversed(missing):
                lonely = not together.items().isdisjoint(ALONE) or (together and (name, value) in ALONE)
                if name not in together and len(together) < MOST_TOGETHER and not lonely and \
                        can_be(kind, *together.items(), (name, value)):
                    together[name] = value
            missing = [pair for pair in missing if pair not in together.items()]
            if together:
                builds.append(Build(linker, kind, tuple((n, together[n]) for n in FACTORS if n in together)))
        had = {build.kind for build in builds if build.linker == linker} - {target.kinds[0]}
        builds += [Build(linker, kind) for kind in target.kinds if kind not in had]
    return builds


def pairs_of(values):
    return set(itertools.combinations(sorted(values.items()), 2))


def values_of(build):
    return {"linker": build.linker, "kind": build.kind, **{name: build.value(name) for name in FACTORS}}


def pairwise_builds(target, known):
    """More builds, until every pair of values that can come together has been seen. Each begins with the first pair
    missing; the other factors take the value that adds most. The same for each run."""
    choices = {"linker": target.linkers, "kind": target.kinds, **{name: tuple(FACTORS[name]) for name in FACTORS}}

    def possible(values):
        factors = tuple((n, v) for n, v in values.items() if n in FACTORS and v)
        return any(is_possible(linker, kind, factors)
                   for linker in ([values["linker"]] if "linker" in values else target.linkers)
                   for kind in ([values["kind"]] if "kind" in values else target.kinds))

    missing = {((a, x), (b, y)) for a, b in itertools.combinations(sorted(choices), 2)
               for x in choices[a] for y in choices[b] if possible({a: x, b: y})}
    for build in known:
        missing -= pairs_of(values_of(build))
    builds = []
    while missing:
        values = dict(min(missing))
        for name in choices:
            if name in values:
                continue
            allowed = [v for v in choices[name] if possible({**values, name: v})]
            values[name] = max(allowed, key=lambda v: len(pairs_of({**values, name: v}) & missing))  # the first of equals
        builds.append(Build(values["linker"], values["kind"], tuple((n, values[n]) for n in FACTORS if values[n])))
        missing -= pairs_of(values)
    return builds


def compile_and_link(target, build, folder):
    """Returns the result of the last command; the program, or libprobe.so beside program, lies in `folder`."""
    flags = [*(FACTORS[name][build.value(name)] for name in ("size", "bss", "tls")), *KINDS[build.kind]]
    for name in LINKER_FACTORS:
        options = FACTORS[name][build.value(name)][build.linker]
        flags += ["-Wl," + options.replace("-z ", "-z,").replace(" ", ",")] if options else []
    if build.value("before") in WITHOUT_SECTIONS:
        flags += ["-Wl,--eh-frame-hdr"]
    output = os.path.join(folder, "libprobe.so" if build.kind == "dso" else "program")
    sources = [os.path.join(PROBE, "probe.c"), os.path.join(PROBE, "throw.cpp")]
    # gcc takes .c and .cpp, g++ would compile both as C++.
    result = run(tool(target.cc), "-g", "-O1", "-pthread", f"-fuse-ld={build.linker}", *filter(None, flags), *sources,
                 "-o", output, "-lstdc++", cwd=folder)
    if result.status == 0 and build.kind == "dso":
        result = run(tool(target.cc), "-g", os.path.join(PROBE, "main.c"), output, "-o", os.path.join(folder, "program"),
                     "-Wl,-rpath,$ORIGIN", "-ldl", cwd=folder)
    before = FACTORS["before"][build.value("before")]
    if result.status == 0 and before == ("sstrip",):
        write(output, without_section_headers(read(output)))
    elif result.status == 0 and before:
        name = target.tool(before[0]) if before[0] in ("strip", "objcopy") else before[0]
        result = run(tool(name), *before[1:], output, cwd=folder)
    return output, result
