"""``reactor completion``: prints the script that makes a shell complete our commands and names of resources.

click's own scripts fail on names that a shell splits: with them, bash splits a name with a space into two words, fish
cuts a name at a comma, and zsh and fish do not complete ``--option=value``.
"""

from __future__ import annotations

import click

BASH = r"""
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} word='' count=-1 bare part response type value IFS=$'\n'
    # Bash begins a new part at each : and =. What no space stands before belongs to the word.
    for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        bare=${line#"${line%%%%[![:space:]]*}"}
        if ((count < 0)) || [[ $bare != "$line" ]]; then
            count=$((count + 1)) word=''
        fi
        word+=${bare:0:${#part}}
        line=${bare#"$part"}
    done
    response=$(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD=$count %(complete_var)s=bash_complete "$1")

    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                if [[ $word != [\'\"]* ]]; then
                    printf -v value %%q "$value"
                    value=${value#"${word%%"${word##*[:=]}"}"}
                fi
                COMPREPLY+=("$value")
                ;;
        esac
    done <<<"$response"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

ZSH = r"""#compdef %(prog_name)s

%(complete_func)s() {
    local kind value help
    local -a response plain described
    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \
        %(complete_var)s=zsh_complete %(prog_name)s)}")

    # Of --option=value only the value is completed.
    [[ $PREFIX != --*=* ]] || compset -P '*='
    for kind value help in $response; do
        case $kind in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain) [[ $help == _ ]] && plain+=("$value") || described+=("$value:$help") ;;
        esac
    done
    (( ! $#described )) || _describe -V unsorted described
    (( ! $#plain )) || compadd -V unsorted -a plain
}

# From a directory of $fpath this file is the function itself; where it is evaluated, it defines it.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""

FISH = r"""
function %(complete_func)s
    # fish completes --option=value as a whole.
    set -l option (string match -r -- '^--[^=]+=' (commandline -ct))
    set -l response (env COMP_WORDS=(commandline -cp | string collect) COMP_CWORD=(commandline -ct) \
        %(complete_var)s=fish_complete %(prog_name)s)
    for offer in $response
        set -l parts (string split -m 1 , -- $offer)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2] | string replace -r -- '^' "$option"
            case file
                __fish_complete_path $parts[2] | string replace -r -- '^' "$option"
            case plain
                echo -- "$option$parts[2]"
        end
    end
end

complete --no-files --command %(prog_name)s --arguments '(%(complete_func)s)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""The scripts, with the placeholders of click."""


@click.command(short_help="Print the shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish. It completes commands, options, kinds and resources.

    Names of resources come from the manifest on the command line (run --only, graph --around), from the journal (why,
    status, pause) or from the session (ensure --require).

    \b
    For the current user, add a line to the startup file (zsh: after compinit):
      echo 'eval "$(reactor completion bash)"' >> ~/.bashrc
      echo 'eval "$(reactor completion zsh)"' >> ~/.zshrc
      echo 'reactor completion fish | source' >> ~/.config/fish/config.fish

    The examples below install the completion for all users, as root. bash needs the package bash-completion, and zsh
    needs compinit in ~/.zshrc.

    Exit codes: 0 done; 2 bad usage.

    \b
    Examples:
      reactor completion bash > /etc/bash_completion.d/reactor
      reactor completion zsh > /usr/local/share/zsh/site-functions/_reactor
      reactor completion fish > /etc/fish/completions/reactor.fish
    """
    from click.shell_completion import ShellComplete

    from reactor.cli.group import reactor

    names = ShellComplete(reactor, {}, "reactor", "_REACTOR_COMPLETE").source_vars()
    click.echo(SCRIPTS[shell].strip() % names)
