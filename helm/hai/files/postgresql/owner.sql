-- What older charts have made in the schema `public` of this database belongs to the superuser: it becomes :owner's.
-- Tables bring along their indexes, row types and the sequences of their columns.
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT ALL ON SCHEMA public TO :"owner";

SELECT format(
  'ALTER %s %I.%I OWNER TO %I',
  CASE kind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
  'public', name, :'owner'
)
FROM (
  SELECT c.relname AS name, c.relkind AS kind, c.oid
  FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relowner = current_user::regrole
    AND c.relkind IN ('r', 'p', 'S', 'v', 'm')
) AS theirs
WHERE NOT EXISTS (
  SELECT FROM pg_depend d
  WHERE d.classid = 'pg_class'::regclass AND d.objid = theirs.oid AND d.deptype IN ('a', 'i')
    AND d.refclassid = 'pg_class'::regclass AND theirs.kind = 'S'
) \gexec

SELECT format('ALTER TYPE public.%I OWNER TO %I', t.typname, :'owner')
FROM pg_type t
WHERE t.typnamespace = 'public'::regnamespace AND t.typowner = current_user::regrole AND t.typtype IN ('e', 'd') \gexec
