# $1: the nonce in the mark of everything that is ours; $2: the grace in seconds, until a
# process with a longer one starts. Lines on the standard input:
# "+ session started grace" for a leader that was started, "- session" for one that was
# reaped. The input ends when the host does, however that happens.
trap '' INT TERM HUP QUIT
PATH=/usr/bin:/bin:/usr/sbin:/sbin
cd /
nonce=$1 grace=$2 kept=' '

while read -r verb session started seconds; do
    case $verb in
    +)
        kept="$kept$session:$started "
        [ "$seconds" -gt "$grace" ] && grace=$seconds
        ;;
    -)
        case $kept in
        *" $session:"*) kept="${kept%%" $session:"*} ${kept#*" $session:"* }" ;;
        esac
        ;;
    esac
done

# Sets state, parent, group, in, threads and started of process $1, or fails. The name before the last
# parenthesis may hold anything, line ends included.
look() {
    stat=
    while read -r line; do stat=$line; done < "/proc/$1/stat" || return 1
    [ -n "$stat" ] || return 1
    set -- ${stat##*) }
    state=$1 parent=$2 group=$3 in=$4 threads=${18} started=${20}
}

# Sets sessions to those that are still led by whom we were told of, or by nobody: a
# number cannot be given away while anybody lives in its session.
know_sessions() {
    sessions=
    for entry in $kept; do
        look "${entry%%:*}" && [ "$started" != "${entry#*:}" ] && continue
        sessions="$sessions|${entry%%:*}"
    done
    sessions=${sessions#|}
}

# Says pid:started of all that is ours and lives.
find_ours() {
    know_sessions
    {
        grep -lsF -e "$nonce/" /proc/[0-9]*/environ
        [ -n "$sessions" ] &&
            grep -lsE -e "\) [A-Za-z] [0-9]+ [0-9]+ ($sessions) " /proc/[0-9]*/stat
    } | while IFS=/ read -r _ _ pid _; do
        [ "$pid" -gt 1 ] && look "$pid" || continue
        case $state in
        X | x) continue ;;
        Z) [ "$threads" -gt 1 ] || continue ;;
        esac
        case "|$sessions|" in
        *"|$in|"*) ;;
        *) grep -qsF -e "$nonce/" "/proc/$pid/environ" || continue ;;
        esac
        echo "$pid:$started"
    done
}

# Sends signal $1 to those of $2 that are still who they were.
strike() {
    for entry in $2; do
        look "${entry%%:*}" && [ "$started" = "${entry#*:}" ] || continue
        kill -s "$1" "${entry%%:*}"
        # A stopped process could use its grace only once it runs again.
        [ "$1" = TERM ] && [ "$state" = T ] && kill -s CONT "${entry%%:*}"
    done
}

# A fifth of a second, or a whole one where there is no shorter sleep.
tick=1
pause() {
    sleep 0.2 && return
    sleep 1
    tick=5
}

# Whoever lives now is no child of a handler. What is stopped in a group of its own has to
# get it before all others, or it would die of the SIGHUP that the kernel sends such a
# group when the last tie to its session ends.
found=$(find_ours) told=' '
know_sessions
for entry in $found; do
    look "${entry%%:*}" && [ "$state" = T ] || continue
    case "|$sessions|" in
    *"|$group|"*) continue ;;
    esac
    strike TERM "$entry"
    told="$told$entry "
done

# A leader's group gets it as a whole: nobody escapes who is just being forked.
for session in $(echo "$sessions" | tr '|' ' '); do
    kill -s TERM -- "-$session"
    kill -s CONT -- "-$session"
done

# Then one by one, but for those who were started by some who had been told: what these
# start, they start to clean up.
left=$((grace * 5)) later=
while [ "$left" -gt 0 ]; do
    [ -n "$found" ] || exit 0
    earlier=${later:+$told}
    for entry in $found; do
        case $told in
        *" $entry "*) continue ;;
        esac
        told="$told$entry "
        look "${entry%%:*}" || continue
        spared=
        case "|$sessions|" in
        *"|$group|"*) spared=1 ;;
        *)
            case $earlier in
            *" $parent:"*) spared=1 ;;
            esac
            ;;
        esac
        if [ -z "$spared" ]; then
            strike TERM "$entry"
        elif [ -n "$later" ]; then
            earlier="$earlier$entry "
        fi
    done
    later=1
    pause
    left=$((left - tick))
    found=$(find_ours)
done
rounds=50
while [ "$rounds" -gt 0 ]; do
    found=$(find_ours)
    [ -n "$found" ] || exit 0
    strike KILL "$found"
    pause
    rounds=$((rounds - tick))
done
