#!/bin/sh
# SPDX-License-Identifier: MIT
# Ranks in two network namespaces, as on two hosts that share a file system. Needs root, ip and an MPI; run by hand:
#     sh tests/mpi/namespaces.sh build/imgstat build/tests/imgstat-mpich   # or imgstat-openmpi
set -eu
program=$(realpath "$1") mpi=$(realpath "$2")
folder=$(mktemp -d) name=imgstat$$
testdata=$(realpath "$(dirname "$0")/../../testdata")

cleanup()
{
    ip netns del "$name-1" 2>/dev/null || true
    ip netns del "$name-2" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

if ! ip netns add "$name-1" 2>/dev/null; then
    echo "skipped: network namespaces are not permitted"
    exit 77
fi
ip netns add "$name-2"
ip link add "v$$-1" netns "$name-1" type veth peer name "v$$-2" netns "$name-2"
for host in 1 2; do
    ip -n "$name-$host" address add "10.213.77.$host/24" dev "v$$-$host"
    ip -n "$name-$host" link set "v$$-$host" up
    ip -n "$name-$host" link set lo up
done

# In place of ssh: "[-x] HOST COMMAND..." runs the command in the namespace of the host. Names tell hosts apart.
cat >"$folder/launch" <<END
#!/bin/sh
[ "\$1" != -x ] || shift
host=\${1##*.}
shift
exec ip netns exec "$name-\$host" unshare --uts sh -c "hostname host-\$host; \$*"
END
chmod +x "$folder/launch"

# Open MPI keeps to TCP. UCX below MPICH finds that both hosts share memory, and takes that.
ranks()
{
    case $mpi in
    *openmpi) "$folder/launch" 10.213.77.1 mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent "$folder/launch" \
        --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.213.77.0/24 \
        --mca oob_tcp_if_include 10.213.77.0/24 --host 10.213.77.1:2,10.213.77.2:2 -n 4 "$mpi" "$@" ;;
    *) "$folder/launch" 10.213.77.1 mpirun.mpich -launcher ssh -launcher-exec "$folder/launch" \
        -hosts 10.213.77.1:1,10.213.77.2:1 -n 4 "$mpi" "$@" ;;
    esac
}

wrong=0
for words in "stats --json --by all" "stats --json" "normalize --together all"; do
    outputs=${words##stats*}
    # shellcheck disable=SC2086
    "$program" $words ${outputs:+-o "$folder/one"} "$testdata"/good-gray*.png >"$folder/one.txt"
    # shellcheck disable=SC2086
    ranks $words ${outputs:+-o "$folder/ranks"} "$testdata"/good-gray*.png >"$folder/ranks.txt"
    cmp "$folder/one.txt" "$folder/ranks.txt" || wrong=1
    [ -z "$outputs" ] || diff -r "$folder/one" "$folder/ranks" || wrong=1
done
[ $wrong = 0 ] && echo "two hosts print and write what one process does"
exit $wrong
