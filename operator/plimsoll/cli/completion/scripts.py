"""The scripts by which shells ask this program what may complete a command."""

from collections.abc import Mapping
from typing import Final

_BASH: Final = r"""# bash completion for plimsoll: source <(plimsoll completion bash)
_plimsoll() {
    local word join="" words=() out line
    # Bash parts --option=value at the sign, which is one word to the program.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $word == = || -n $join ]] && ((${#words[@]})); then
            words[${#words[@]} - 1]+=$word
            join=${word%%[!=]*}
        else
            words+=("$word")
        fi
    done
    local last=${words[${#words[@]} - 1]}
    local prefix=""
    [[ $last == --*=* ]] && prefix=${last%%=*}=
    out=$("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null) || return
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :0) compopt -o default ;;
            :*) ;;
            *)
                word=${line%%$'\t'*}
                COMPREPLY+=("${word#"$prefix"}")
                ;;
        esac
    done <<<"$out"
}
complete -F _plimsoll plimsoll kubectl-plimsoll
"""
_ZSH: Final = r"""#compdef plimsoll kubectl-plimsoll
# zsh completion for plimsoll: source <(plimsoll completion zsh)
_plimsoll() {
    local line
    local -a lines candidates
    lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${(@)lines[1,-2]}"; do
        candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (($#candidates)) && _describe plimsoll candidates
    [[ ${lines[-1]} == :0 ]] && _files
}
compdef _plimsoll plimsoll kubectl-plimsoll
"""
_FISH: Final = r"""# fish completion for plimsoll: plimsoll completion fish | source
function __plimsoll_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command $words[1] __complete $words[2..-1] 2>/dev/null)
    if test (count $lines) -gt 1
        printf '%s\n' $lines[1..-2]
    end
    if test "$lines[-1]" = ":0"
        __fish_complete_path (commandline -ct)
    end
end
complete -c plimsoll -f -a '(__plimsoll_complete)'
complete -c kubectl-plimsoll -f -a '(__plimsoll_complete)'
"""
SCRIPTS: Final[Mapping[str, str]] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
