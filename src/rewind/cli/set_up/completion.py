"""Print the script that makes your shell complete commands, options, checkpoints and sessions.

bash: put `eval "$(rewind completion bash)"` into ~/.bashrc

zsh:  put `eval "$(rewind completion zsh)"` into ~/.zshrc, after `compinit`

fish: `rewind completion fish > ~/.config/fish/completions/rewind.fish`
"""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer

summary = "print the completion script for your shell"
examples = ("rewind completion bash", "rewind completion zsh",
            "rewind completion fish > ~/.config/fish/completions/rewind.fish")

# Each asks `rewind __complete WORD …`, which prints a line `candidate<TAB>what it is` for each way to go on
# with the last word. No line at all: the shell's own way, which is names of files.
_BASH = r"""
_rewind() {
    local line="${COMP_LINE:0:COMP_POINT}" words=() current candidate
    read -ra words <<< "$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    current="${words[${#words[@]}-1]}"
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        # Readline takes what follows the last colon or equals sign for the word.
        [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]] && candidate="${candidate#"${current%:*}:"}"
        [[ "$current" == *=* && "$COMP_WORDBREAKS" == *=* ]] && candidate="${candidate#"${current%%=*}="}"
        [[ "$candidate" == *[:/=] ]] && compopt -o nospace 2>/dev/null
        [[ -n "$candidate" ]] && COMPREPLY+=("$candidate")
    done < <(command rewind __complete "${words[@]:1}" 2>/dev/null)
}
complete -o default -o nosort -F _rewind rewind 2>/dev/null || complete -o default -F _rewind rewind
"""

_ZSH = r"""
#compdef rewind
_rewind() {
    local -a shown partial
    local candidate meaning
    while IFS=$'\t' read -r candidate meaning; do
        [[ -z "$candidate" ]] && continue
        case "$candidate" in
            *[:/=]) partial+=("$candidate") ;;
            *) shown+=("${candidate//:/\\:}:$meaning") ;;
        esac
    done < <(command rewind __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
    if (( ! ${#shown} && ! ${#partial} )); then
        _files
        return
    fi
    (( ${#partial} )) && compadd -Q -S '' -- "${partial[@]}"
    (( ${#shown} )) && _describe -V 'rewind' shown
}
if [[ "${funcstack[1]}" == _rewind ]]; then _rewind "$@"; else compdef _rewind rewind; fi
"""

_FISH = r"""
function __rewind_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command rewind __complete $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c rewind -f -k -a '(__rewind_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="bash, zsh or fish")


def run(args: Args) -> int:
    script = _SCRIPTS[args.shell].lstrip("\n")
    return answer(args, {"shell": args.shell, "script": script}, script.removesuffix("\n"))
