# bash completion for sframe-trace.
_sframe_trace() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
  # Another command follows --.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1))
    elif ((i + 1 == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    return
  done
  compopt -o filenames 2>/dev/null
  if [[ ${COMP_WORDS[1]} == record ]] && ((COMP_CWORD > 1)); then
    if [[ $previous == --@(cache|output|flamegraph|pprof) || $previous == -o ]]; then
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ $previous == --frame-pointers ]]; then
      mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$current")
    elif [[ $previous == --sort ]]; then
      mapfile -t COMPREPLY < <(compgen -W 'total self' -- "$current")
    elif [[ $current != -* ]]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -W '-a --all -C --cpu -p --pid --duration --as-root -e --event -F --freq -c --count
        --stack --frames --frame-pointers --earlier-samples --no-synthesize --cache -o --output --flamegraph --roots-below --title --top --sort --limit --wide --folded --weigh --json
        --pprof -q --quiet -h --help --' -- "$current")
    fi
    return
  fi
  if [[ $previous == --@(core|program|input|root|kallsyms|cache|flamegraph|pprof|output) || $previous == -[io] ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ $previous == --frame-pointers ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$current")
  elif [[ $previous == --sort ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'total self' -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--core --program -i --input -p --pid --tid --comm --event --time --root --debuginfod --kallsyms --no-translate --no-synthesize --cache --frame-pointers --earlier-samples --no-inlines --lines --json --top --sort --limit --wide --folded --weigh
      --flamegraph --roots-below --title --pprof --call-chains -o --output --compare --frames -q --quiet -h --help -V --version' -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _sframe_trace sframe-trace
