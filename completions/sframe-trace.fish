# fish completion for sframe-trace.

# Another command follows --.
function __sframe_trace_command
    set -l words (commandline -opc) (commandline -ct)
    while test "$words[1]" != --
        set -e words[1]
    end
    set -e words[1]
    complete -C "$words"
end
complete -c sframe-trace -n 'contains -- -- (commandline -opc)' -f -a '(__sframe_trace_command)'

complete -c sframe-trace -n 'not contains -- -- (commandline -opc)' -a '(__fish_complete_pids)'
complete -c sframe-trace -l core -r -d 'a core file'
complete -c sframe-trace -l root -r -d 'look in this directory for files'
complete -c sframe-trace -l kallsyms -r -d 'names of the kernel\'s functions'
complete -c sframe-trace -l translate -d 'generate rows for files without a section'
complete -c sframe-trace -l no-translate -d 'use only the sections that files have'
complete -c sframe-trace -l cache -r -d 'keep generated rows in this directory'
complete -c sframe-trace -l json -d 'one object a line for each stack'
complete -c sframe-trace -l folded -d 'each stack once, with its samples'
complete -c sframe-trace -l flamegraph -r -d 'write a picture for a browser'
complete -c sframe-trace -l compare -d 'walk by DWARF as well'
complete -c sframe-trace -l frames -x -d 'the most frames of a stack'
complete -c sframe-trace -s q -l quiet -d 'no summary'
complete -c sframe-trace -s h -l help -d 'print help'
complete -c sframe-trace -l version -d 'print the version'
