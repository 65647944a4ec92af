# fish completion for sframe-backtrace.
complete -c sframe-backtrace -n __fish_is_first_token -s h -l help -d 'print a help text'
complete -c sframe-backtrace -n __fish_is_first_token -s V -l version -d 'print the version'
complete -c sframe-backtrace -f -a '(__fish_complete_subcommand)'
