# Reads what "go test -v" printed and repeats, for each test that failed, what the test
# itself said (first lines only): the logs of the processes that it started come after
# that and are long.
match($0, /^=== (RUN|CONT|NAME) +/) { now = substr($0, RLENGTH + 1); next }
/^ +[a-z0-9_]+_test\.go:[0-9]+: / { said[now] = said[now] $0 "\n" }
match($0, /^ *--- FAIL: /) { split(substr($0, RLENGTH + 1), name, " "); if (said[name[1]] != "") failed[++n] = name[1] }
END { for (i = 1; i <= n; i++) printf "%s\n%s", failed[i], said[failed[i]] }
