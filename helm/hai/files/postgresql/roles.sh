# Gives Hub and scheduler a role and a database each. The kubelet runs it at each start of the server, before clients
# can connect: it makes what is missing, also for a database of an older chart, and takes over changed passwords.
log=${HAI_HOOK_LOG:-/proc/1/fd/1}
# Kubernetes drops the output of a hook: it is written to the server's own log instead.
[ -w "$log" ] && exec >>"$log" 2>&1
here=$(dirname "$0")
# The server that initdb starts for itself does not listen here.
until pg_isready --quiet --host=127.0.0.1 --username=hub --dbname=jupyterhub; do sleep 1; done
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  psql --username=hai --dbname=postgres --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --file="$here/roles.sql" && exit 0
  echo "roles.sh: attempt $attempt to make the roles failed"
  sleep "${HAI_HOOK_PAUSE:-3}"
done
exit 1
