"""What makes bash complete our commands, also with names that bash would take apart."""

BASH_SCRIPT = r"""
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
"""In click's format for such scripts. click's own inserts names as they are, so one with a space becomes two words."""
