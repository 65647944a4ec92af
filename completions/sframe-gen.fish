# fish completion for sframe-gen.

# Behind --launch ... -- stands another command.
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
complete -c sframe-gen -l emit -d 'write the section by itself' -x -a "section\t'its bytes'
asm\t'text for any assembler'"
complete -c sframe-gen -l section-address -d 'the address that the section is for' -x
complete -c sframe-gen -l remove -d 'take the section out again'
complete -c sframe-gen -l dump -d 'print what the section says' -a "text\t'in the notation of readelf --sframe'
json\t'one JSON object a line for each section'"
complete -c sframe-gen -l only -d 'dump the functions at a place' -x
complete -c sframe-gen -l lookup -d 'say how to unwind from a place' -x
complete -c sframe-gen -l verify -d 'check every row against the DWARF'
complete -c sframe-gen -l check -d 'say which readers take the section' -a "kernel\t'Linux, for the stacks of programs: SFrame 3, the only version it takes'
glibc\t'backtrace() of glibc 2.42 and 2.43: SFrame 2 without rows for the outermost frame'
gnu-ld\t'linker of binutils 2.46 and later: SFrame 3'
gnu-ld-2.45\t'linker of binutils 2.45: SFrame 2 without rows for the outermost frame'
gnu-ld-2.44\t'linker of binutils 2.41 to 2.44: SFrame 2 before its errata, starts relative to the section'
gnu-ld-2.40\t'linker of binutils 2.40: SFrame 1'
libsframe\t'library of binutils 2.46 and later, and so readelf and objdump: SFrame 3, also 2'
libsframe-2.44\t'the same of binutils 2.41 to 2.44: SFrame 2 before its errata'
libsframe-2.40\t'the same of binutils 2.40: SFrame 1'
mold\t'mold 2.42 and later: SFrame 3'
llvm-readelf\t'LLVM 22: SFrame 2'
java-profiler\t'DataDog\'s Java profiler: SFrame 2, starts relative to the section'"
complete -c sframe-gen -l launch -d 'run the compiler behind -- and convert the objects it makes'
complete -c sframe-gen -s o -l output -d 'write to another file' -r -F
complete -c sframe-gen -s r -l recursive -d 'work on all files below folders'
complete -c sframe-gen -s X -l exclude -d 'leave out paths that contain a text' -x
complete -c sframe-gen -l linked-only -d 'leave objects and archives alone'
complete -c sframe-gen -s j -l jobs -d 'work on so many files at a time' -x
complete -c sframe-gen -s n -l dry-run -d 'write nothing'
complete -c sframe-gen -l no-undo -d 'keep nothing for --remove'
complete -c sframe-gen -l cfi-from -d 'also read .debug_frame of a separate debug file' -r -F
complete -c sframe-gen -l from-sframe -d 'take the rows of the section that is there'
complete -c sframe-gen -l ignore-build-id -d 'take the debug file even if its build-id differs'
complete -c sframe-gen -l skip-non-elf -d 'pass over files that are not ELF'
complete -c sframe-gen -l skip-refused -d 'pass over files that cannot be done for a stated reason'
complete -c sframe-gen -l move-headers -d 'move program headers that have no room to grow'
complete -c sframe-gen -l drop-signature -d 'convert signed kernel modules, without their signature'
complete -c sframe-gen -l for -d 'write what a reader takes' -x -a "kernel\t'Linux, for the stacks of programs: SFrame 3, the only version it takes'
glibc\t'backtrace() of glibc 2.42 and 2.43: SFrame 2 without rows for the outermost frame'
gnu-ld\t'linker of binutils 2.46 and later: SFrame 3'
gnu-ld-2.45\t'linker of binutils 2.45: SFrame 2 without rows for the outermost frame'
gnu-ld-2.44\t'linker of binutils 2.41 to 2.44: SFrame 2 before its errata, starts relative to the section'
gnu-ld-2.40\t'linker of binutils 2.40: SFrame 1'
libsframe\t'library of binutils 2.46 and later, and so readelf and objdump: SFrame 3, also 2'
libsframe-2.44\t'the same of binutils 2.41 to 2.44: SFrame 2 before its errata'
libsframe-2.40\t'the same of binutils 2.40: SFrame 1'
mold\t'mold 2.42 and later: SFrame 3'
llvm-readelf\t'LLVM 22: SFrame 2'
java-profiler\t'DataDog\'s Java profiler: SFrame 2, starts relative to the section'"
complete -c sframe-gen -l sframe-version -d 'choose the version of the format' -x -a "3\t'the default; binutils 2.46 and later'
2\t'binutils 2.41 to 2.45'
1\t'binutils 2.40'
ctf\t'CTF Frame, which came before'"
complete -c sframe-gen -l no-pcrel -d 'version 2 for readers older than its errata'
complete -c sframe-gen -l no-ra-undefined -d 'leave outermost frames out'
complete -c sframe-gen -l no-stubs -d 'no rows from instructions'
complete -c sframe-gen -l flexible -d 'use flexible descriptors' -x -a "auto\t'except on aarch64'
always\t'wherever a rule needs one'
never\t'leave such rules out'"
complete -c sframe-gen -l compact -d 'take few bytes' -a ""
complete -c sframe-gen -l report -d 'choose the form of the report' -x -a "summary\t'one line a file'
json\t'one JSON object a line for each file'"
complete -c sframe-gen -l explain -d 'name each plan for the rewrite, and code without rows'
complete -c sframe-gen -s q -l quiet -d 'print errors only'
complete -c sframe-gen -s v -l verbose -d 'name each function that is left out'
complete -c sframe-gen -s h -l help -d 'print help'
complete -c sframe-gen -s V -l version -d 'print the version'
# <<<
