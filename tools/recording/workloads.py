"""Programs to record."""
import math
import os

import harness

from . import measured

REGEX = "#include <regex>\n#include <map>\n#include <iostream>\nint main(){std::map<std::string,std::regex>m;" \
        "m[\"a\"]=std::regex(\"b\");std::cout<<m.size();}\n"
PYTHON = "import re,json\ndef f(n): return n if n<2 else f(n-1)+f(n-2)\n" \
         "for i in range(3): f(25); json.loads(json.dumps([{str(j):[j]*9} for j in range(30000)]));" \
         " re.findall(\"(a|b)*c\",\"ab\"*9000)\n"
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


def common(folder):
    """What people run: command by name."""
    source = harness.write(os.path.join(folder, "regex.cpp"), REGEX)
    return {"g++": in_turn(["g++", "-O2", "-c", "-o", os.path.join(folder, "regex.o"), source]),
            "python3": in_turn(["/usr/bin/python3", "-c", PYTHON]), "node": in_turn(["node", "-e", NODE])}


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
        took = measured.run(command).processors
    return command
