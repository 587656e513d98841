# $1: the nonce in the mark of everything that is ours; $2: the grace in seconds, until a
# process with a longer one starts. Lines on the standard input:
# "+ session started grace out err" for a leader that was started, with the numbers of the
# pipes that the host reads, "- session" for one of which nothing is left. The input ends
# when the host does, however that happens.
trap '' INT TERM HUP QUIT
PATH=/usr/bin:/bin:/usr/sbin:/sbin
cd /
nonce=$1 grace=$2 kept=' '

while read -r verb session started seconds out err; do
    case $verb in
    +)
        kept="$kept$session:$started:$out:$err "
        [ "$seconds" -gt "$grace" ] && grace=$seconds
        ;;
    -)
        case $kept in
        *" $session:"*) kept="${kept%%" $session:"*} ${kept#*" $session:"* }" ;;
        esac
        ;;
    esac
done

# Sets state, parent, group, in, threads and started of process $1, or fails. The name
# before the last parenthesis may hold anything, line ends included.
look() {
    stat=
    while read -r line; do stat=$line; done < "/proc/$1/stat" || return 1
    [ -n "$stat" ] || return 1
    set -- ${stat##*) }
    state=$1 parent=$2 group=$3 in=$4 threads=${18} started=${20}
}

# Reads on what process $1 writes into pipes of the host, so that nobody dies of writing
# (SIGPIPE) instead of cleaning up. Those between processes of a task are theirs.
hold() {
    for fd in 1 2; do
        case $pipes in
        *[0-9]*) ;;
        *) return ;;
        esac
        name=$(readlink "/proc/$1/fd/$fd") || continue
        pipe=${name#"pipe:["} pipe=${pipe%"]"}
        case $pipes in
        *":$pipe:"*) ;;
        *) continue ;;
        esac
        {
            # What was opened stays what it is, whoever has the number now.
            if [ "$(readlink /proc/self/fd/3)" = "$name" ]; then
                cat <&3 3<&- > /dev/null &
                look "$!" && cats="$cats $!:$started"
                pipes="${pipes%%":$pipe:"*}:${pipes#*":$pipe:"}"
            fi
        } 3< "/proc/$1/fd/$fd"
    done
}

# Sets sessions to those that are still led by whom we were told of, or by nobody: a
# number cannot be given away while anybody lives in its session.
know_sessions() {
    sessions=
    for entry in $kept; do
        since=${entry#*:}
        look "${entry%%:*}" && [ "$started" != "${since%%:*}" ] && continue
        sessions="$sessions|${entry%%:*}"
    done
    sessions=${sessions#|}
}

# Sends signal $1 to the group of each leader as a whole: nobody escapes who is just being
# forked. Fails if there was none.
strike_groups() {
    know_sessions
    struck=1
    for session in $(IFS='|' && echo $sessions); do
        kill "-$1" "-$session" && struck=0
    done
    return "$struck"
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

# Whether everything has gone, when a look has found nobody. It can miss who is forked while
# it lasts, so the kernel is asked, who knows of a group at any moment, and there are two
# more looks.
all_gone() {
    ! strike_groups 0 || return 1
    for again in 2 3; do
        found=$(find_ours)
        [ -z "$found" ] || return 1
    done
}

# A fifth of a second, or a whole one where there is no shorter sleep.
tick=1
pause() {
    sleep 0.2 && return
    sleep 1
    tick=5
}

# The leaders hold nearly all of the pipes. What else may hold them is asked too, but not
# without end: each costs a millisecond.
pipes=: cats='' asked=100
for entry in $kept; do
    since=${entry#*:}
    pipes="$pipes${since#*:}:"
done
trap 'strike KILL "$cats"' EXIT
for entry in $kept; do
    since=${entry#*:}
    look "${entry%%:*}" && [ "$started" = "${since%%:*}" ] && hold "${entry%%:*}"
done
case $pipes in
*[0-9]*) found=$(find_ours) ;;
*) found= ;;
esac
for entry in $found; do
    [ "$asked" -gt 0 ] || break
    asked=$((asked - 1))
    look "${entry%%:*}" && [ "$started" = "${entry#*:}" ] && hold "${entry%%:*}"
done

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

strike_groups TERM
strike_groups CONT

# Then one by one, but for those who were started by some who had been told: what these
# start, they start to clean up.
left=$((grace * 5)) later=
while [ "$left" -gt 0 ]; do
    [ -n "$found" ] || ! all_gone || exit 0
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

# A group that got a SIGKILL forks no more. Who has left the leader's goes with a group of
# ours as well: it descends from us as a whole. A look may miss it, but hardly three.
rounds=50 empty=0
while [ "$rounds" -gt 0 ] && [ "$empty" -lt 3 ]; do
    strike_groups KILL
    found=$(find_ours)
    for entry in $found; do
        look "${entry%%:*}" && [ "$started" = "${entry#*:}" ] && [ "$group" -gt 1 ] &&
            kill -KILL "-$group"
    done
    strike KILL "$found"
    empty=$((empty + 1))
    [ -z "$found" ] || empty=0
    pause
    rounds=$((rounds - tick))
done
