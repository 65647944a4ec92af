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
complete -c sframe-trace -l program -r -d 'the program of a core file'
complete -c sframe-trace -s i -l input -r -d 'this recording'
complete -c sframe-trace -s p -l pid -x -a '(__fish_complete_pids)' -d 'a process, or samples of these'
complete -c sframe-trace -l tid -x -d 'samples of these threads'
complete -c sframe-trace -l comm -x -d 'samples of threads with these names'
complete -c sframe-trace -l event -x -d 'an event: to sample, or of a recording to show'
complete -c sframe-trace -l time -x -d 'samples between two times, in seconds'
complete -c sframe-trace -l root -r -d 'look in this directory for files'
complete -c sframe-trace -l debuginfod -d 'fetch files that are not here'
complete -c sframe-trace -l kallsyms -r -d 'names of the kernel\'s functions'
complete -c sframe-trace -l no-translate -d 'use only the sections that files have'
complete -c sframe-trace -l no-synthesize -d 'make no rows from code without call frame information'
complete -c sframe-trace -l cache -r -d 'keep generated rows in this directory'
complete -c sframe-trace -l frame-pointers -x -a 'auto always never' -d 'without a row, use the frame pointer'
complete -c sframe-trace -l earlier-samples -d 'add outer frames of earlier samples (may be wrong)'
complete -c sframe-trace -l no-inlines -d 'show only functions of symbol tables'
complete -c sframe-trace -l lines -d 'show source lines'
complete -c sframe-trace -l json -d 'one object a line for each stack'
complete -c sframe-trace -l top -d 'how many samples have each function'
complete -c sframe-trace -l sort -x -a 'total self' -d 'sort functions by'
complete -c sframe-trace -l wide -d 'whole names'
complete -c sframe-trace -l weigh -d 'sums of periods in folded text'
complete -c sframe-trace -l limit -x -d 'the most functions'
complete -c sframe-trace -l folded -d 'each stack once, with its samples'
complete -c sframe-trace -l flamegraph -r -d 'write a picture for a browser'
complete -c sframe-trace -l roots-below -d 'callers under what they call'
complete -c sframe-trace -l title -x -d 'the title of the picture'
complete -c sframe-trace -l pprof -r -d 'write a profile for go tool pprof'
complete -c sframe-trace -l call-chains -d 'write a recording with call chains'
complete -c sframe-trace -l compare -d 'walk by DWARF as well'
complete -c sframe-trace -l frames -x -d 'the most frames of a stack'
complete -c sframe-trace -s q -l quiet -d 'no summary'
complete -c sframe-trace -s h -l help -d 'print help'
complete -c sframe-trace -s V -l version -d 'print the version'

set -l recording 'contains -- record (commandline -opc); and not contains -- -- (commandline -opc)'
complete -c sframe-trace -n __fish_is_first_arg -a record -d 'record samples with whole stacks'
complete -c sframe-trace -n $recording -s a -l all -d 'record the whole machine'
complete -c sframe-trace -n $recording -s C -l cpu -x -d 'record these processors'
complete -c sframe-trace -n $recording -l duration -x -d 'end after this time'
complete -c sframe-trace -n $recording -l as-root -d 'under sudo, run the command as root'
complete -c sframe-trace -n $recording -s e -l event -x -d 'sample this event'
complete -c sframe-trace -n $recording -s F -l freq -x -d 'samples a second'
complete -c sframe-trace -n $recording -s c -l count -x -d 'events between two samples'
complete -c sframe-trace -n $recording -l stack -x -d 'the most bytes of a stack'
complete -c sframe-trace -s o -l output -r -d 'write this file'
