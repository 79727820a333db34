# SPDX-License-Identifier: MIT
# Completion of imgstat for bash; installed as bash-completion/completions/imgstat.

_imgstat()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=stats
    local shared="--json --csv --quiet --verbose --percentiles --percentile-method --bins --range
        --recursive --page --indices --memory --max-width --max-height --max-pixels --max-bytes
        --max-pages --device --jobs --help"
    local stats="--histogram --cdf --shape --ddof"
    local hist="--plot --force --log --width --height --ascii"
    COMPREPLY=()

    # "=" is a word of its own: --device=cu is three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case ${COMP_WORDS[1]} in
        stats | hist | devices) command=${COMP_WORDS[1]} ;;
    esac

    case $prev in
        --device)
            mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda" -- "$cur")
            return ;;
        --percentile-method)
            mapfile -t COMPREPLY < <(compgen -W "linear nearest" -- "$cur")
            return ;;
        --percentiles | --bins | --range | --ddof | --page | --memory | --max-* | --jobs | -j | --width | --height)
            return ;;
    esac
    if [[ $cur == -* ]]; then
        local words
        case $command in
            stats) words="$shared $stats" ;;
            hist) words="$shared $hist" ;;
            devices) words=--help ;;
        esac
        ((COMP_CWORD == 1)) && words+=" --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    if ((COMP_CWORD == 1)); then
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "stats hist devices" -- "$cur")
    fi
}

complete -F _imgstat imgstat
