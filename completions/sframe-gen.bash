# bash completion for sframe-gen. It needs nothing but bash: bash-completion's functions are used where they are there.

# >>> options, made from src/cli/option_table.cpp
_sframe_gen_options='--verify --against --remove --section-only --check --dump --only --lookup --emit --section-address --to-cache --launch --list-readers -h --help -V --version
  -o --output -n --dry-run -r --recursive -X --exclude --objects --linked-only -j --jobs --skip-non-elf --skip-refused --cfi-from --ignore-build-id --from-sframe --no-undo --fsync --move-headers --drop-signature
  --for --sframe-version --compact --flexible --no-stubs --omit-disproved --synthesize --bounded-tables-only --no-padding
  --report -v --verbose --explain -q --quiet'

# Prints the values that option $1, with or without "=" after it, accepts, or nothing if they are files.
_sframe_gen_values() {
  case $1 in
    --against | --against=) echo dwarf code ;;
    --check=) echo kernel glibc gnu-ld gnu-ld-2.45 gnu-ld-2.44 gnu-ld-2.40 libsframe libsframe-2.44 libsframe-2.40 mold llvm-readelf java-profiler ;;
    --dump=) echo text json ;;
    --emit | --emit=) echo section asm ;;
    --for | --for=) echo kernel glibc gnu-ld gnu-ld-2.44 gnu-ld-2.40 libsframe libsframe-2.44 libsframe-2.40 mold llvm-readelf ;;
    --sframe-version | --sframe-version=) echo 3 2 1 ctf ;;
    --flexible | --flexible=) echo auto always never ;;
    --report | --report=) echo summary json ;;
  esac
}
# <<<

_sframe_gen() {
  local current=${COMP_WORDS[COMP_CWORD]} option='' values='' i launches=''
  # Another command follows --launch ... --.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == --launch ]] && launches=yes
    [[ ${COMP_WORDS[i]} == -- ]] || continue
    if [[ -n $launches ]]; then
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      elif ((i + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      return
    fi
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    return
  done
  # "=" is a word of its own: --for = gl.
  if [[ $current == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]}=
    current=''
  elif ((COMP_CWORD >= 2)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}=
  elif ((COMP_CWORD >= 1)); then
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  values=$(_sframe_gen_values "$option")
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$_sframe_gen_options" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _sframe_gen sframe-gen
