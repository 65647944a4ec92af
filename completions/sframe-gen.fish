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

complete -c sframe-gen -s o -l output -r -F -d 'Write to another file'
complete -c sframe-gen -l emit -x -a 'section asm' -d 'Write the section by itself'
complete -c sframe-gen -l section-address -x -d 'The address that the section is for'
complete -c sframe-gen -l remove -d 'Take the section out again'
complete -c sframe-gen -l dump -d 'Print what the section says'
complete -c sframe-gen -l verify -d 'Check every row against the DWARF'
complete -c sframe-gen -l launch -d 'Run the compiler behind -- and convert its objects'
complete -c sframe-gen -l report -x -a 'summary json' -d 'Form of the report'
complete -c sframe-gen -l cfi-from -r -F -d 'Also read .debug_frame of a debug file'
complete -c sframe-gen -l ignore-build-id -d 'Take the debug file even if its build-id differs'
complete -c sframe-gen -l skip-non-elf -d 'Pass over files that are not ELF'
complete -c sframe-gen -l skip-refused -d 'Pass over files that cannot be done for a reason'
complete -c sframe-gen -l sframe-version -x -a '3 2 1 ctf' -d 'Version of the format'
complete -c sframe-gen -l for -x -d 'Write what a reader takes' -a "kernel\t'Linux: SFrame 3'
glibc\t'backtrace() of glibc 2.42 and 2.43'
gnu-ld\t'binutils 2.46 and later'
gnu-ld-2.45\t'binutils 2.45'
gnu-ld-2.44\t'binutils 2.41 to 2.44'
gnu-ld-2.40\t'binutils 2.40'
java-profiler\t'Java profiler of DataDog'"
complete -c sframe-gen -l no-pcrel -d 'Version 2 for readers older than its errata'
complete -c sframe-gen -l no-ra-undefined -d 'Leave outermost frames out'
complete -c sframe-gen -l flexible -x -a 'auto always never' -d 'Use flexible descriptors'
complete -c sframe-gen -l drop-signature -d 'Convert signed kernel modules, without signature'
complete -c sframe-gen -s n -l dry-run -d 'Write nothing'
complete -c sframe-gen -l explain -d 'Name each plan for the rewrite'
complete -c sframe-gen -s q -l quiet -d 'Print errors only'
complete -c sframe-gen -s v -l verbose -d 'Name each function that is left out'
complete -c sframe-gen -s h -l help -d 'Print help'
complete -c sframe-gen -s V -l version -d 'Print the version'
