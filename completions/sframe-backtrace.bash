# bash completion for sframe-backtrace.
_sframe_backtrace() {
  local current=${COMP_WORDS[COMP_CWORD]}
  if ((COMP_CWORD == 1)) && [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '-h --help -V --version --' -- "$current")
  elif declare -F _command_offset >/dev/null; then
    local first=1
    [[ ${COMP_WORDS[1]} == -- ]] && first=2
    _command_offset $first
  elif ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _sframe_backtrace sframe-backtrace
