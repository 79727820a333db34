# SPDX-License-Identifier: MIT
# Completion of imgstat for bash; installed as bash-completion/completions/imgstat.

_imgstat()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=stats
    local shared="--json --csv --quiet --verbose --percentiles --percentile-method --bins --range
        --recursive --page --indices --memory --max-width --max-height --max-pixels --max-bytes
        --max-pages --device --jobs --help"
    local stats="--histogram --cdf --shape --ddof"
    local transform="--output --format --compression --level --fast --force --skip-existing --dry-run --quiet
        --verbose --recursive --memory --max-width --max-height --max-pixels --max-bytes --max-pages --device
        --jobs --help"
    local map="--channels --out-range --depth --like --save-transfer --together"
    local normalize="--method --clip --mean --stddev --gamma --match"
    local equalize="--clahe --grid --clip-limit --match"
    local hist="--plot --force --log --width --height --ascii"
    COMPREPLY=()

    # "=" is a word of its own: --device=cu is three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case ${COMP_WORDS[1]} in
        stats | hist | normalize | equalize | apply | devices) command=${COMP_WORDS[1]} ;;
    esac

    case $prev in
        --device)
            mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda" -- "$cur")
            return ;;
        --percentile-method)
            mapfile -t COMPREPLY < <(compgen -W "linear nearest" -- "$cur")
            return ;;
        --method)
            mapfile -t COMPREPLY < <(compgen -W "stretch percentile meanstd gamma match" -- "$cur")
            return ;;
        --channels)
            mapfile -t COMPREPLY < <(compgen -W "each joint luma" -- "$cur")
            return ;;
        --depth)
            mapfile -t COMPREPLY < <(compgen -W "8 16 float" -- "$cur")
            return ;;
        --like)
            mapfile -t COMPREPLY < <(compgen -W "opencv skimage imagemagick imagej imagej-classic pillow vips" -- "$cur")
            return ;;
        --format)
            mapfile -t COMPREPLY < <(compgen -W "png tiff" -- "$cur")
            return ;;
        --clip | --mean | --stddev | --gamma | --grid | --clip-limit | --out-range | --compression | --level)
            return ;;
        --percentiles | --bins | --range | --ddof | --page | --memory | --max-* | --jobs | -j | --width | --height)
            return ;;
    esac
    if [[ $cur == -* ]]; then
        local words
        case $command in
            stats) words="$shared $stats" ;;
            hist) words="$shared $hist" ;;
            normalize) words="$normalize $map $transform" ;;
            equalize) words="$equalize $map $transform" ;;
            apply) words="$transform" ;;
            devices) words=--help ;;
        esac
        ((COMP_CWORD == 1)) && words+=" --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    if ((COMP_CWORD == 1)); then
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "stats hist normalize equalize apply devices" -- "$cur")
    fi
}

complete -F _imgstat imgstat
