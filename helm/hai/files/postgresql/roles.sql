-- Run by roles.sh as the superuser `hai`, over the socket of the pod. It may be run again at any time.
-- HAI_PASSWORDS names the folder with the passwords; nothing of them is printed.
\set hai_password `cat "$HAI_PASSWORDS/password"`
\set hub_password `cat "$HAI_PASSWORDS/hub-password"`
\set scheduler_password `cat "$HAI_PASSWORDS/scheduler-password"`

SELECT format('CREATE ROLE %I', name) FROM unnest(ARRAY['hub', 'scheduler']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

ALTER ROLE hai PASSWORD :'hai_password';
ALTER ROLE hub LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'hub_password';
ALTER ROLE scheduler LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'scheduler_password';

SELECT format('CREATE DATABASE %I OWNER %I', name, owner)
FROM (VALUES ('jupyterhub', 'hub'), ('hai', 'scheduler')) AS wanted (name, owner)
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = name) \gexec

ALTER DATABASE jupyterhub OWNER TO hub;
ALTER DATABASE hai OWNER TO scheduler;
REVOKE ALL ON DATABASE jupyterhub, hai, postgres, template1 FROM PUBLIC;

\connect jupyterhub
\set owner hub
\ir owner.sql
\connect hai
\set owner scheduler
\ir owner.sql
