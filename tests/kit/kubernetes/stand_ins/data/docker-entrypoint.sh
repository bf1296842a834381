#!/bin/sh
# Makes the role and the database that the variables of the official image describe, once, and starts it.
set -e
# As there: words that begin with a dash are PostgreSQL's, and connections over the socket need no password.
case ${1:-} in -*) set -- postgres "$@" ;; esac
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS >/dev/null
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  if [ "$POSTGRES_DB" != postgres ]; then
    pg_ctl -D "$PGDATA" -o "-c listen_addresses= -k /var/run/postgresql" -w start
    psql -h /var/run/postgresql -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE $POSTGRES_DB"
    pg_ctl -D "$PGDATA" -m fast -w stop
  fi
fi
exec "$@" -D "$PGDATA" -c "listen_addresses=*" -k /var/run/postgresql
