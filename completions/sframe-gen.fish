# fish completion for sframe-gen.

# Another command follows --launch ... --.
function __sframe_gen_launched
    set -l words (commandline -opc)
    contains -- --launch $words; and contains -- -- $words
end
function __sframe_gen_launched_command
    set -l words (commandline -opc) (commandline -ct)
    while test "$words[1]" != --
        set -e words[1]
    end
    set -e words[1]
    complete -C "$words"
end
complete -c sframe-gen -n __sframe_gen_launched -f -a '(__sframe_gen_launched_command)'

# >>> options, made from src/cli/option_table.cpp
complete -c sframe-gen -l verify -d 'compare every row of .sframe with the DWARF'
complete -c sframe-gen -l against -d 'with --verify, judge by dwarf (default) or code' -x -a "dwarf\t'the default: .sframe with the DWARF'
code\t'the DWARF with the instructions (x86-64)'"
complete -c sframe-gen -l remove -d 'restore the original file, byte for byte'
complete -c sframe-gen -l section-only -d 'with --remove, take .sframe out of changed files'
complete -c sframe-gen -l check -d 'report which readers support the section' -a "kernel\t'Linux, for the stacks of programs: only SFrame 3'
glibc\t'backtrace() of glibc 2.42 to 2.44: SFrame 2 without rows for the outermost frame'
gnu-ld\t'linker of binutils 2.46 and later: SFrame 3'
gnu-ld-2.45\t'linker of binutils 2.45, for --check only: SFrame 2 without rows for the outermost frame'
gnu-ld-2.44\t'linker of binutils 2.41 to 2.44: SFrame 2 before its errata, starts relative to the section'
gnu-ld-2.40\t'linker of binutils 2.40: SFrame 1'
libsframe\t'library of binutils 2.46 and later, and so readelf and objdump: SFrame 3, also 2'
libsframe-2.44\t'the same of binutils 2.41 to 2.44: SFrame 2 before its errata'
libsframe-2.40\t'the same of binutils 2.40: SFrame 1'
mold\t'mold 2.42 and later: SFrame 3'
llvm-readelf\t'LLVM 22: SFrame 2'
java-profiler\t'DataDog\'s Java profiler, for --check only: it reads another layout than SFrame 2'"
complete -c sframe-gen -l dump -d 'print the section as text or json' -a "text\t'in the notation of readelf --sframe'
json\t'one JSON object a line for each section'"
complete -c sframe-gen -l only -d 'with --dump, print only functions at LOCATION' -x
complete -c sframe-gen -l lookup -d 'print the unwind rule at an address or symbol' -x
complete -c sframe-gen -l emit -d 'write only the section, as section or asm' -x -a "section\t'its bytes'
asm\t'text for any assembler'"
complete -c sframe-gen -l section-address -d 'with --emit, where the section will be' -x
complete -c sframe-gen -l to-cache -d 'put sections for sframe-backtrace in DIR' -r -F
complete -c sframe-gen -l launch -d 'run the compiler after --, convert its objects'
complete -c sframe-gen -l list-readers -d 'print the names for --for and --check'
complete -c sframe-gen -s h -l help -d 'print this help'
complete -c sframe-gen -s V -l version -d 'print the version'
complete -c sframe-gen -s o -l output -d 'write to FILE and leave the input as it is' -r -F
complete -c sframe-gen -s n -l dry-run -d 'report what would be done, but write nothing'
complete -c sframe-gen -s r -l recursive -d 'process linked files, kernel modules in directories'
complete -c sframe-gen -s X -l exclude -d 'with -r, skip paths that contain PART' -x
complete -c sframe-gen -l objects -d 'with -r, convert objects and archives as well'
complete -c sframe-gen -l linked-only -d 'with -r, process programs and libraries only'
complete -c sframe-gen -s j -l jobs -d 'process N files at a time' -x
complete -c sframe-gen -l skip-non-elf -d 'skip files that are not ELF or archives'
complete -c sframe-gen -l skip-refused -d 'skip files that cannot be converted, with a note'
complete -c sframe-gen -l cfi-from -d 'also read .debug_frame of a separate debug file' -r -F
complete -c sframe-gen -l ignore-build-id -d 'accept a debug file with another build-id'
complete -c sframe-gen -l from-sframe -d 'convert the existing section instead of the CFI'
complete -c sframe-gen -l no-undo -d 'store no undo record for --remove'
complete -c sframe-gen -l fsync -d 'wait until each file is on the disk'
complete -c sframe-gen -l move-headers -d 'move program headers that have no space to grow'
complete -c sframe-gen -l drop-signature -d 'convert signed kernel modules, drop the signature'
complete -c sframe-gen -l for -d 'write what READER supports' -x -a "kernel\t'Linux, for the stacks of programs: only SFrame 3'
glibc\t'backtrace() of glibc 2.42 to 2.44: SFrame 2 without rows for the outermost frame'
gnu-ld\t'linker of binutils 2.46 and later: SFrame 3'
gnu-ld-2.44\t'linker of binutils 2.41 to 2.44: SFrame 2 before its errata, starts relative to the section'
gnu-ld-2.40\t'linker of binutils 2.40: SFrame 1'
libsframe\t'library of binutils 2.46 and later, and so readelf and objdump: SFrame 3, also 2'
libsframe-2.44\t'the same of binutils 2.41 to 2.44: SFrame 2 before its errata'
libsframe-2.40\t'the same of binutils 2.40: SFrame 1'
mold\t'mold 2.42 and later: SFrame 3'
llvm-readelf\t'LLVM 22: SFrame 2'"
complete -c sframe-gen -l sframe-version -d 'write version 3 (default), 2, 1 or ctf' -x -a "3\t'the default; binutils 2.46 and later'
2\t'binutils 2.41 to 2.45'
1\t'binutils 2.40'
ctf\t'CTF Frame, which came before'"
complete -c sframe-gen -l compact -d 'write fewer bytes, with up to N rows in an FDE' -a ""
complete -c sframe-gen -l flexible -d 'write flexible FDEs auto, always or never' -x -a "auto\t'except on aarch64'
always\t'wherever a rule needs one'
never\t'leave such rules out'"
complete -c sframe-gen -l no-stubs -d 'make no rows from instructions of PLT stubs'
complete -c sframe-gen -l omit-disproved -d 'make no rows that instructions contradict'
complete -c sframe-gen -l synthesize -d 'make rows of proved code without CFI (x86-64)'
complete -c sframe-gen -l bounded-tables-only -d 'prove nothing by unbounded jump tables'
complete -c sframe-gen -l no-padding -d 'end functions before the padding after them'
complete -c sframe-gen -l report -d 'report as summary or json' -x -a "summary\t'one line a file'
json\t'one JSON object a line for each file'"
complete -c sframe-gen -s v -l verbose -d 'list uncovered functions and the layout'
complete -c sframe-gen -l explain -d 'list possible layouts and code without rows'
complete -c sframe-gen -s q -l quiet -d 'print errors only'
# <<<
