"""Programs to record."""
import math
import os

import harness
from common import need_measured

REGEX = "#include <regex>\n#include <map>\n#include <iostream>\nint main(){std::map<std::string,std::regex>m;" \
        "m[\"a\"]=std::regex(\"b\");std::cout<<m.size();}\n"
PYTHON = "import re,json\ndef f(n): return n if n<2 else f(n-1)+f(n-2)\n" \
         "for i in range(3): f(25); json.loads(json.dumps([{str(j):[j]*9} for j in range(30000)]));" \
         " re.findall(\"(a|b)*c\",\"ab\"*LETTERS)\n"
NODE = "function f(n){return n<2?n:f(n-1)+f(n-2)} for(let i=0;i<4;i++){f(32);" \
       "JSON.parse(JSON.stringify([...Array(300000).keys()].map(k=>({k}))));[...Array(4e5)].map(Math.random).sort()}"
# So many classes, each with containers and algorithms of its own.
TEMPLATES = """#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
template <int N> struct Key {
  int value;
  std::string text;
  bool operator<(const Key& other) const { return value * N < other.value * N; }
};
template <int N> int work(int seed) {
  std::map<Key<N>, std::vector<Key<N>>> groups;
  for (int i = 0; i < 1000; ++i) groups[{i % seed, {}}].push_back({i * N, std::to_string(i)});
  std::function<bool(const Key<N>&)> is_odd = [](const Key<N>& key) { return key.value % 2 != 0; };
  int sum = 0;
  for (auto& [key, members] : groups) {
    std::stable_sort(members.begin(), members.end());
    sum += static_cast<int>(std::count_if(members.begin(), members.end(), is_odd)) + key.value;
  }
  return sum;
}
"""


def in_turn(command):
    """Three times."""
    return ["sh", "-c", 'for i in 1 2 3; do "$@"; done', "sh", *command]


def common(folder, letters=9000):
    """What people run: command by name. python3's time grows by the square of the letters."""
    source = harness.write(os.path.join(folder, "regex.cpp"), REGEX)
    return {"g++": in_turn(["g++", "-O2", "-c", "-o", os.path.join(folder, "regex.o"), source]),
            "python3": in_turn(["/usr/bin/python3", "-c", PYTHON.replace("LETTERS", str(letters))]), "node": in_turn(["node", "-e", NODE])}


def compilation(folder, classes):
    """A command that takes longer the more classes there are."""
    name = os.path.join(folder, f"templates{classes}")
    calls = "".join(f"int work{number}(int seed) {{ return work<{number}>(seed); }}\n" for number in range(1, classes + 1))
    return ["g++", "-O2", "-c", "-o", name + ".o", harness.write(name + ".cpp", TEMPLATES + calls)]


def compilation_of(folder, seconds):
    """A compilation that takes so much time of a processor here, or a little more."""
    classes, took = 4, 0.0
    while took < seconds:
        classes = math.ceil(classes * 1.05 * seconds / took) if took else classes
        command = compilation(folder, classes)
        took = need_measured(*command).processors
    return command


# Stacks of many depths, in the ways of "threads", "forks" and "handlers".
WAYS = r"""
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <thread>
#include <vector>
static volatile long sum;
__attribute__((noinline)) static void spin(int depth, long rounds) {
  if (depth > 0) spin(depth - 1, rounds);
  else for (long i = 0; i < rounds; ++i) sum = sum + i;
  sum = sum + 1;
}
static void handle(int) { spin(7, 3000000); }
static void handle_all() {
  char* const own_stack = new char[1 << 16];
  stack_t other{};
  other.ss_sp = own_stack;
  other.ss_size = 1 << 16;
  sigaltstack(&other, nullptr);
  struct sigaction action{};
  action.sa_handler = handle;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGVTALRM, &action, nullptr);
  const itimerval often{{0, 20000}, {0, 20000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  setitimer(ITIMER_VIRTUAL, &often, nullptr);
  for (int depth = 0; depth < 300; depth += 10) spin(depth, 20000000);
}
int main(int, char** arguments) {
  if (strcmp(arguments[1], "threads") == 0) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 200; ++i) threads.emplace_back(spin, i, 10000000);
    for (auto& thread : threads) thread.join();
  } else if (strcmp(arguments[1], "forks") == 0) {
    for (int i = 0; i < 1000; ++i) {
      const int child = fork();
      if (child == 0) {
        spin(i % 50, 3000000);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  } else {
    handle_all();
  }
}
"""
# Of C, for compilers and options that matter to walks: calls of many kinds, and a recursion that is deeper than what is kept.
CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile long sum;
static int by_text(const void* one, const void* other) { return strcmp(*(char* const*)one, *(char* const*)other); }
__attribute__((noinline)) static void sorts(int count) {
  char** texts = malloc(count * sizeof *texts);
  for (int i = 0; i < count; ++i) {
    texts[i] = malloc(32);
    snprintf(texts[i], 32, "%d of %g", i * 7919 % count, i / 3.0);
  }
  qsort(texts, count, sizeof *texts, by_text);
  for (int i = 0; i < count; ++i) free(texts[i]);
  free(texts);
}
__attribute__((noinline)) static long deep(int depth) {
  if (depth > 0) return deep(depth - 1) + sum;
  for (int i = 0; i < 200000; ++i) sum = sum + i;
  return sum;
}
__attribute__((noinline)) static void varying(int size) {
  char room[size];
  memset(room, size, size);
  for (int i = 0; i < size; ++i) sum = sum + room[i];
}
int main(int count, char** arguments) {
  for (int i = 0; i < 300; ++i) {
    deep(count > 1 ? atoi(arguments[1]) : 20);
    if (count > 1) continue;
    sorts(2000);
    varying(1000 + i);
  }
  return 0;
}
"""
GO = """package main

import (
	"fmt"
	"sort"
	"sync"
)

func tree(depth int) map[int][]int {
	if depth == 0 {
		return map[int][]int{1: {3, 1, 2}}
	}
	all := tree(depth - 1)
	for i := 0; i < 2000; i++ {
		all[i] = append(all[i], i*depth%17)
		sort.Ints(all[i])
	}
	return all
}

func main() {
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(depth int) {
			defer group.Done()
			for j := 0; j < 8; j++ {
				fmt.Sprint(len(fmt.Sprint(tree(depth * 4))))
			}
		}(i)
	}
	group.Wait()
}
"""


def ways(folder):
    """A program, and commands that run it in its ways."""
    program = os.path.join(folder, "ways")
    harness.need(harness.run("g++", "-O1", "-pthread", "-Wl,--build-id", "-o", program, harness.write(program + ".cpp", WAYS)))
    return program, {"200 threads": [program, "threads"], "1,000 forks": [program, "forks"], "signal handlers": [program, "handlers"]}


def compiled(folder):
    """The same program by compilers and options that matter to walks, and many short programs."""
    source = harness.write(os.path.join(folder, "calls.c"), CALLS)
    ways_of = {"-O0": ["gcc", "-O0"], "frame pointers": ["gcc", "-O2", "-fno-omit-frame-pointer"],
               "static musl": ["musl-gcc", "-O2", "-static"], "recursion": ["gcc", "-O1", "-fno-optimize-sibling-calls"]}
    commands = {}
    for name, compiler in ways_of.items():
        program = os.path.join(folder, name.replace(" ", "-").lstrip("-"))
        harness.need(harness.run(*compiler, "-o", program, source))
        commands[name] = [program, *(["900"] if name == "recursion" else [])]
    return {**commands, "short programs": ["sh", "-c", "for i in $(seq 400); do /bin/ls -l / >/dev/null; done"]}


def rust_compilation(folder):
    """Many functions with closures and iterators, each of its own type."""
    functions = "".join(
        f"fn work{n}(seed: u64) -> u64 {{ let mut all: Vec<(u64, String)> = (0..seed).map(|i| (i * {n} % 97, format!(\"{{}}{n}\", i))).collect();"
        f" all.sort(); all.iter().filter(|one| one.0 % {n + 1} == 0).map(|one| one.1.len() as u64 + {n}).sum() }}\n" for n in range(1, 40))
    calls = " + ".join(f"work{n}(9)" for n in range(1, 40))
    source = harness.write(os.path.join(folder, "closures.rs"), f"{functions}fn main() {{ println!(\"{{}}\", {calls}); }}\n")
    return ["rustc", "-O", "-o", os.path.join(folder, "closures"), source]


def go_program(folder):
    program = os.path.join(folder, "go-program")
    environment = {**os.environ, "GOCACHE": os.path.join(folder, "go-cache"), "GO111MODULE": "off"}
    harness.need(harness.run("go", "build", "-o", program, harness.write(program + ".go", GO), env=environment, timeout=1200))
    return [program]
