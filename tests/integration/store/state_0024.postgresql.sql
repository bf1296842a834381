CREATE TABLE public.hai_archived_users (
    name text NOT NULL,
    at bigint NOT NULL,
    by_name text NOT NULL,
    note text NOT NULL
);
CREATE TABLE public.hai_audit (
    id bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    before json,
    after json,
    address text
);
CREATE SEQUENCE public.hai_audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_audit_id_seq OWNED BY public.hai_audit.id;
CREATE TABLE public.hai_budgets (
    user_group text NOT NULL,
    measure text NOT NULL,
    most text NOT NULL,
    window_days integer NOT NULL,
    currency text
);
CREATE TABLE public.hai_capacity (
    hour bigint NOT NULL,
    node_group text NOT NULL,
    node_us bigint NOT NULL,
    gpu_us bigint NOT NULL,
    down_us bigint NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE public.hai_containers (
    id text NOT NULL,
    user_name text NOT NULL,
    groups json NOT NULL,
    group_name text NOT NULL,
    gpus integer NOT NULL,
    millicores integer NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL
);
CREATE TABLE public.hai_database (
    id smallint NOT NULL,
    name text NOT NULL,
    epoch integer NOT NULL,
    steps bigint NOT NULL,
    number integer NOT NULL,
    first_task bigint NOT NULL,
    above integer NOT NULL
);
CREATE TABLE public.hai_deliveries (
    id bigint NOT NULL,
    notification bigint NOT NULL,
    user_name text NOT NULL,
    channel text NOT NULL,
    at bigint NOT NULL,
    next_at bigint NOT NULL,
    attempts integer NOT NULL,
    state text NOT NULL,
    ended_at bigint,
    error text,
    digest bigint
);
CREATE SEQUENCE public.hai_deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_deliveries_id_seq OWNED BY public.hai_deliveries.id;
CREATE TABLE public.hai_environments (
    name text NOT NULL,
    image text,
    python text,
    variables json NOT NULL,
    subjects json NOT NULL,
    description text NOT NULL,
    is_default boolean NOT NULL,
    machine text,
    glibc text
);
CREATE TABLE public.hai_events (
    seq bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    user_name text,
    task_id bigint,
    data json NOT NULL
);
CREATE SEQUENCE public.hai_events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_events_seq_seq OWNED BY public.hai_events.seq;
CREATE TABLE public.hai_found_machines (
    image text NOT NULL,
    machine text NOT NULL,
    glibc text NOT NULL,
    task_id bigint NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.hai_lease (
    id smallint NOT NULL,
    holder text,
    token bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.hai_ledger (
    run_id text NOT NULL,
    part integer NOT NULL,
    task_id bigint NOT NULL,
    number integer NOT NULL,
    key_id bigint NOT NULL,
    nodes integer NOT NULL,
    gpus integer NOT NULL,
    node_gpus integer NOT NULL,
    wait bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    starting bigint NOT NULL,
    useful bigint NOT NULL,
    saving bigint NOT NULL,
    lost bigint NOT NULL,
    idle bigint NOT NULL,
    energy_j bigint,
    outcome text,
    reason text,
    last boolean NOT NULL,
    short boolean NOT NULL,
    millicores integer DEFAULT 0 NOT NULL,
    slowdown bigint
);
CREATE TABLE public.hai_ledger_histograms (
    period smallint NOT NULL,
    since bigint NOT NULL,
    key_id bigint NOT NULL,
    waits bytea,
    slowdowns bytea
);
CREATE TABLE public.hai_ledger_keys (
    id bigint NOT NULL,
    user_name text NOT NULL,
    groups json NOT NULL,
    group_name text NOT NULL,
    priority smallint NOT NULL,
    kind text NOT NULL
);
CREATE SEQUENCE public.hai_ledger_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_ledger_keys_id_seq OWNED BY public.hai_ledger_keys.id;
CREATE TABLE public.hai_ledger_sums (
    period smallint NOT NULL,
    since bigint NOT NULL,
    key_id bigint NOT NULL,
    starts bigint NOT NULL,
    wait_us bigint NOT NULL,
    ends bigint NOT NULL,
    interruptions bigint NOT NULL,
    broken bigint NOT NULL,
    failures bigint NOT NULL,
    short bigint NOT NULL,
    starting_us bigint NOT NULL,
    useful_us bigint NOT NULL,
    saving_us bigint NOT NULL,
    lost_us bigint NOT NULL,
    failed_us bigint NOT NULL,
    gpu_starting_us bigint NOT NULL,
    gpu_useful_us bigint NOT NULL,
    gpu_saving_us bigint NOT NULL,
    gpu_lost_us bigint NOT NULL,
    gpu_failed_us bigint NOT NULL,
    gpu_idle_us bigint NOT NULL,
    energy_j bigint NOT NULL,
    core_us bigint DEFAULT '0'::bigint NOT NULL,
    tasks bigint DEFAULT '0'::bigint NOT NULL,
    slowdown_ppm bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.hai_log_pieces (
    run_id text NOT NULL,
    rank integer NOT NULL,
    start bigint NOT NULL,
    next bigint NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.hai_mount_rules (
    name text NOT NULL,
    subject text NOT NULL,
    action text NOT NULL,
    kind text,
    source text NOT NULL,
    mount_path text NOT NULL,
    read_only boolean NOT NULL,
    priority integer NOT NULL,
    node_group text,
    description text NOT NULL
);
CREATE TABLE public.hai_node_conditions (
    node text NOT NULL,
    ready boolean NOT NULL,
    closed boolean NOT NULL,
    mark text NOT NULL,
    since bigint NOT NULL,
    changed_by text
);
CREATE TABLE public.hai_node_marks (
    node text NOT NULL,
    mark text NOT NULL
);
CREATE TABLE public.hai_notification_rules (
    user_name text NOT NULL,
    data json NOT NULL
);
CREATE TABLE public.hai_notifications (
    id bigint NOT NULL,
    user_name text NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    key text NOT NULL,
    task_id bigint,
    data json NOT NULL,
    routed boolean NOT NULL,
    seen boolean NOT NULL
);
CREATE SEQUENCE public.hai_notifications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_notifications_id_seq OWNED BY public.hai_notifications.id;
CREATE TABLE public.hai_progress (
    task_id bigint NOT NULL,
    run_number integer NOT NULL,
    rank integer NOT NULL,
    step bigint NOT NULL,
    total bigint,
    at bigint NOT NULL,
    begin_step bigint NOT NULL,
    begin_at bigint NOT NULL,
    pace_s double precision
);
CREATE TABLE public.hai_quotas (
    subject text NOT NULL,
    group_name text NOT NULL,
    priority smallint NOT NULL,
    node_limit integer,
    ceiling integer,
    expires_at bigint
);
CREATE TABLE public.hai_rates (
    node_group text NOT NULL,
    priority smallint NOT NULL,
    valid_from text NOT NULL,
    per_node_hour text NOT NULL,
    per_gpu_hour text NOT NULL,
    currency text NOT NULL
);
CREATE TABLE public.hai_recordings (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    run_id text NOT NULL,
    user_name text NOT NULL,
    size bigint NOT NULL,
    data json NOT NULL
);
CREATE SEQUENCE public.hai_recordings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_recordings_id_seq OWNED BY public.hai_recordings.id;
CREATE TABLE public.hai_revision (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.hai_runs (
    task_id bigint NOT NULL,
    number integer NOT NULL,
    run_id text NOT NULL,
    ranks json NOT NULL,
    priority smallint NOT NULL,
    started_at bigint NOT NULL,
    running_at bigint,
    ended_at bigint,
    notice json,
    killed_at bigint,
    done boolean NOT NULL,
    checkpoint json,
    reason text,
    lost bigint,
    failed_ranks json,
    origin text,
    "left" text,
    haienv json,
    summary json
);
CREATE TABLE public.hai_series (
    id bigint NOT NULL,
    run_id text NOT NULL,
    rank integer NOT NULL,
    step integer NOT NULL,
    until bigint NOT NULL,
    packed boolean NOT NULL,
    data bytea NOT NULL
);
CREATE SEQUENCE public.hai_series_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_series_id_seq OWNED BY public.hai_series.id;
CREATE TABLE public.hai_settings (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.hai_specs (
    task_id bigint NOT NULL,
    command json NOT NULL,
    cwd text NOT NULL,
    env json NOT NULL,
    checkpoint_dir text,
    tags json NOT NULL,
    environment text,
    watch json,
    ranks_per_node json,
    haienv json,
    snapshot json,
    image text
);
CREATE TABLE public.hai_stars (
    user_name text NOT NULL,
    task_id bigint NOT NULL
);
CREATE TABLE public.hai_strikes (
    id bigint NOT NULL,
    node text NOT NULL,
    task_id bigint NOT NULL,
    at bigint NOT NULL
);
CREATE SEQUENCE public.hai_strikes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_strikes_id_seq OWNED BY public.hai_strikes.id;
CREATE TABLE public.hai_task_tags (
    task_id bigint NOT NULL,
    tag text NOT NULL
);
CREATE TABLE public.hai_tasks (
    id bigint NOT NULL,
    name text NOT NULL,
    user_name text NOT NULL,
    group_name text NOT NULL,
    priority smallint,
    nodes integer NOT NULL,
    submitted_at bigint NOT NULL,
    waiting_since bigint NOT NULL,
    profile text NOT NULL,
    grace bigint NOT NULL,
    time_limit bigint,
    state text NOT NULL,
    ended boolean NOT NULL,
    held boolean NOT NULL,
    custom_rank double precision,
    run_number integer,
    served bigint NOT NULL,
    suspensions integer NOT NULL,
    avoid json,
    promise json,
    failed_starts integer NOT NULL,
    checkpoint json,
    job_state text,
    reason text,
    ended_at bigint,
    version bigint NOT NULL,
    saved_at bigint NOT NULL,
    idempotency_key text,
    gpus integer,
    retry json,
    retries integer DEFAULT 0 NOT NULL,
    not_before bigint,
    rotations json,
    leaving_took bigint,
    starting_took bigint,
    change bigint DEFAULT '0'::bigint NOT NULL,
    size bigint DEFAULT '0'::bigint NOT NULL,
    signal json,
    unsaved integer DEFAULT 0 NOT NULL
);
CREATE SEQUENCE public.hai_tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.hai_tasks_id_seq OWNED BY public.hai_tasks.id;
CREATE TABLE public.hai_trace_pieces (
    recording bigint NOT NULL,
    rank integer NOT NULL,
    trace integer NOT NULL,
    start bigint NOT NULL,
    next bigint NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.hai_users (
    name text NOT NULL,
    groups json NOT NULL
);
CREATE TABLE public.hai_uses (
    user_name text NOT NULL,
    group_name text NOT NULL,
    node_seconds double precision NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.hai_visits (
    name text NOT NULL,
    seen_at bigint NOT NULL,
    admin_at bigint
);
ALTER TABLE ONLY public.hai_audit ALTER COLUMN id SET DEFAULT nextval('public.hai_audit_id_seq'::regclass);
ALTER TABLE ONLY public.hai_deliveries ALTER COLUMN id SET DEFAULT nextval('public.hai_deliveries_id_seq'::regclass);
ALTER TABLE ONLY public.hai_events ALTER COLUMN seq SET DEFAULT nextval('public.hai_events_seq_seq'::regclass);
ALTER TABLE ONLY public.hai_ledger_keys ALTER COLUMN id SET DEFAULT nextval('public.hai_ledger_keys_id_seq'::regclass);
ALTER TABLE ONLY public.hai_notifications ALTER COLUMN id SET DEFAULT nextval('public.hai_notifications_id_seq'::regclass);
ALTER TABLE ONLY public.hai_recordings ALTER COLUMN id SET DEFAULT nextval('public.hai_recordings_id_seq'::regclass);
ALTER TABLE ONLY public.hai_series ALTER COLUMN id SET DEFAULT nextval('public.hai_series_id_seq'::regclass);
ALTER TABLE ONLY public.hai_strikes ALTER COLUMN id SET DEFAULT nextval('public.hai_strikes_id_seq'::regclass);
ALTER TABLE ONLY public.hai_tasks ALTER COLUMN id SET DEFAULT nextval('public.hai_tasks_id_seq'::regclass);
INSERT INTO public.hai_database VALUES (1, '7e86c8ef4bdec08c', 1, 2, 1, 0, 0);
INSERT INTO public.hai_ledger VALUES ('3.1', 1, 3, 1, 1, 2, 0, 0, 1000000, 2000000, 7000001, 5000001, 0, 0, 0, 0, NULL, 'failed', 'failed', true, true, 0, NULL);
INSERT INTO public.hai_ledger VALUES ('1.1', 1, 1, 1, 1, 2, 0, 0, 1000000, 2000000, 7000001, 5000001, 0, 0, 0, 0, NULL, 'interrupted', 'turn_over', true, false, 0, NULL);
INSERT INTO public.hai_ledger_histograms VALUES (0, 0, 1, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (1, 0, 1, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (2, 0, 1, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (3, 0, 2, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (4, 0, 2, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (5, 0, 2, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (6, 0, 2, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (7, 0, 2, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_histograms VALUES (8, 0, 2, '\x010002000000', NULL);
INSERT INTO public.hai_ledger_keys VALUES (1, 'alice', '[]', 'training', 10, 'task');
INSERT INTO public.hai_ledger_keys VALUES (2, '', '[]', 'training', 10, 'task');
INSERT INTO public.hai_ledger_sums VALUES (0, 0, 1, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (1, 0, 1, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (2, 0, 1, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (3, 0, 2, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (4, 0, 2, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (5, 0, 2, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (6, 0, 2, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (7, 0, 2, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_ledger_sums VALUES (8, 0, 2, 2, 2000000, 2, 1, 0, 1, 1, 20000004, 0, 0, 0, 10000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.hai_node_marks VALUES ('node-1', 'cordoned');
INSERT INTO public.hai_quotas VALUES ('user:alice', 'training', 10, 4, NULL, NULL);
INSERT INTO public.hai_revision VALUES ('0024');
INSERT INTO public.hai_runs VALUES (1, 1, '1.1', '[{"rank": 0, "node": "node-0", "state": "exited", "exit_code": 143, "notified_at": null, "done": true, "message": null}, {"rank": 1, "node": "node-1", "state": "exited", "exit_code": 143, "notified_at": null, "done": true, "message": null}]', 10, 2000000, NULL, 7000001, NULL, NULL, false, '{"at": 1767600005000000, "step": 7, "path": "/c"}', 'turn_over', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.hai_runs VALUES (3, 1, '3.1', '[{"rank": 0, "node": "node-0", "state": "exited", "exit_code": 1, "notified_at": null, "done": true, "message": null}, {"rank": 1, "node": "node-1", "state": "exited", "exit_code": 0, "notified_at": null, "done": true, "message": null}]', 10, 2000000, NULL, 7000001, NULL, NULL, false, NULL, 'failed', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.hai_settings VALUES ('~words', '{"archived": "97891a30dc3c6eaf", "conditions": "b6a3779270cd5340", "environments": "9fbd0d4be974a693", "marks": "d8f3b346d187ccf0", "mount_rules": "e319bacef36a03b2", "notification_rules": "193fc7fb8822ba3b", "quotas": "7857bb5ecd8d11c2", "settings": "708c2f4d3efe1847", "strikes": "1252500ad2304603", "users": "bba10ef477681753", "uses": "153c32321c122d0a"}');
INSERT INTO public.hai_settings VALUES ('policy', '{"all": {"worth": {"at": "2026-01-05T08:00:00+00:00", "by": "root", "value": 5.0}}, "groups": {"training": {"worth": {"at": "2026-01-05T08:00:00+00:00", "by": "root", "value": 5.0}}}}');
INSERT INTO public.hai_specs VALUES (1, '["python"]', '/', '{}', NULL, '["sweep"]', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.hai_specs VALUES (3, '["python"]', '/', '{}', NULL, '["sweep"]', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.hai_task_tags VALUES (1, 'sweep');
INSERT INTO public.hai_task_tags VALUES (3, 'sweep');
INSERT INTO public.hai_tasks VALUES (1, 'one', 'alice', 'training', NULL, 2, 1000000, 7000001, 'sigterm', 120000000, NULL, 'suspended', false, false, NULL, 1, 5000000, 1, NULL, NULL, 0, NULL, NULL, NULL, NULL, 3, 1, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, 0);
INSERT INTO public.hai_tasks VALUES (3, 'broken', 'alice', 'training', NULL, 2, 1000000, 7000001, 'sigterm', 120000000, NULL, 'failed', true, false, NULL, 1, 5000000, 1, NULL, NULL, 0, NULL, NULL, NULL, 7000001, 3, 1, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, 0);
SELECT pg_catalog.setval('public.hai_audit_id_seq', 1, false);
SELECT pg_catalog.setval('public.hai_deliveries_id_seq', 1, false);
SELECT pg_catalog.setval('public.hai_events_seq_seq', 1, false);
SELECT pg_catalog.setval('public.hai_ledger_keys_id_seq', 2, true);
SELECT pg_catalog.setval('public.hai_notifications_id_seq', 1, false);
SELECT pg_catalog.setval('public.hai_recordings_id_seq', 1, false);
SELECT pg_catalog.setval('public.hai_series_id_seq', 1, false);
SELECT pg_catalog.setval('public.hai_strikes_id_seq', 1, false);
SELECT pg_catalog.setval('public.hai_tasks_id_seq', 3, true);
ALTER TABLE ONLY public.hai_revision
    ADD CONSTRAINT hai_revision_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.hai_archived_users
    ADD CONSTRAINT pk_hai_archived_users PRIMARY KEY (name);
ALTER TABLE ONLY public.hai_audit
    ADD CONSTRAINT pk_hai_audit PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_budgets
    ADD CONSTRAINT pk_hai_budgets PRIMARY KEY (user_group);
ALTER TABLE ONLY public.hai_capacity
    ADD CONSTRAINT pk_hai_capacity PRIMARY KEY (hour, node_group);
ALTER TABLE ONLY public.hai_containers
    ADD CONSTRAINT pk_hai_containers PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_database
    ADD CONSTRAINT pk_hai_database PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_deliveries
    ADD CONSTRAINT pk_hai_deliveries PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_environments
    ADD CONSTRAINT pk_hai_environments PRIMARY KEY (name);
ALTER TABLE ONLY public.hai_events
    ADD CONSTRAINT pk_hai_events PRIMARY KEY (seq);
ALTER TABLE ONLY public.hai_found_machines
    ADD CONSTRAINT pk_hai_found_machines PRIMARY KEY (image);
ALTER TABLE ONLY public.hai_lease
    ADD CONSTRAINT pk_hai_lease PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_ledger
    ADD CONSTRAINT pk_hai_ledger PRIMARY KEY (run_id, part);
ALTER TABLE ONLY public.hai_ledger_histograms
    ADD CONSTRAINT pk_hai_ledger_histograms PRIMARY KEY (period, since, key_id);
ALTER TABLE ONLY public.hai_ledger_keys
    ADD CONSTRAINT pk_hai_ledger_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_ledger_sums
    ADD CONSTRAINT pk_hai_ledger_sums PRIMARY KEY (period, since, key_id);
ALTER TABLE ONLY public.hai_log_pieces
    ADD CONSTRAINT pk_hai_log_pieces PRIMARY KEY (run_id, rank, start);
ALTER TABLE ONLY public.hai_mount_rules
    ADD CONSTRAINT pk_hai_mount_rules PRIMARY KEY (name);
ALTER TABLE ONLY public.hai_node_conditions
    ADD CONSTRAINT pk_hai_node_conditions PRIMARY KEY (node);
ALTER TABLE ONLY public.hai_node_marks
    ADD CONSTRAINT pk_hai_node_marks PRIMARY KEY (node);
ALTER TABLE ONLY public.hai_notification_rules
    ADD CONSTRAINT pk_hai_notification_rules PRIMARY KEY (user_name);
ALTER TABLE ONLY public.hai_notifications
    ADD CONSTRAINT pk_hai_notifications PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_progress
    ADD CONSTRAINT pk_hai_progress PRIMARY KEY (task_id);
ALTER TABLE ONLY public.hai_quotas
    ADD CONSTRAINT pk_hai_quotas PRIMARY KEY (subject, group_name, priority);
ALTER TABLE ONLY public.hai_rates
    ADD CONSTRAINT pk_hai_rates PRIMARY KEY (node_group, priority, valid_from);
ALTER TABLE ONLY public.hai_recordings
    ADD CONSTRAINT pk_hai_recordings PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_runs
    ADD CONSTRAINT pk_hai_runs PRIMARY KEY (task_id, number);
ALTER TABLE ONLY public.hai_series
    ADD CONSTRAINT pk_hai_series PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_settings
    ADD CONSTRAINT pk_hai_settings PRIMARY KEY (name);
ALTER TABLE ONLY public.hai_specs
    ADD CONSTRAINT pk_hai_specs PRIMARY KEY (task_id);
ALTER TABLE ONLY public.hai_stars
    ADD CONSTRAINT pk_hai_stars PRIMARY KEY (user_name, task_id);
ALTER TABLE ONLY public.hai_strikes
    ADD CONSTRAINT pk_hai_strikes PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_task_tags
    ADD CONSTRAINT pk_hai_task_tags PRIMARY KEY (task_id, tag);
ALTER TABLE ONLY public.hai_tasks
    ADD CONSTRAINT pk_hai_tasks PRIMARY KEY (id);
ALTER TABLE ONLY public.hai_trace_pieces
    ADD CONSTRAINT pk_hai_trace_pieces PRIMARY KEY (recording, rank, trace, start);
ALTER TABLE ONLY public.hai_users
    ADD CONSTRAINT pk_hai_users PRIMARY KEY (name);
ALTER TABLE ONLY public.hai_uses
    ADD CONSTRAINT pk_hai_uses PRIMARY KEY (user_name, group_name);
ALTER TABLE ONLY public.hai_visits
    ADD CONSTRAINT pk_hai_visits PRIMARY KEY (name);
ALTER TABLE ONLY public.hai_tasks
    ADD CONSTRAINT uq_hai_tasks_idempotency_key UNIQUE (user_name, idempotency_key);
CREATE INDEX ix_hai_audit_at ON public.hai_audit USING btree (at);
CREATE INDEX ix_hai_audit_of_actor ON public.hai_audit USING btree (actor, id);
CREATE INDEX ix_hai_audit_of_subject ON public.hai_audit USING btree (subject, id);
CREATE INDEX ix_hai_deliveries_due ON public.hai_deliveries USING btree (state, next_at);
CREATE INDEX ix_hai_deliveries_ended ON public.hai_deliveries USING btree (state, ended_at);
CREATE INDEX ix_hai_deliveries_of ON public.hai_deliveries USING btree (notification);
CREATE INDEX ix_hai_deliveries_of_user ON public.hai_deliveries USING btree (user_name, channel, id);
CREATE INDEX ix_hai_events_of_task ON public.hai_events USING btree (task_id, seq);
CREATE INDEX ix_hai_events_of_user ON public.hai_events USING btree (user_name, seq);
CREATE INDEX ix_hai_ledger_keys_of_user ON public.hai_ledger_keys USING btree (user_name);
CREATE INDEX ix_hai_ledger_started_at ON public.hai_ledger USING btree (started_at, run_id);
CREATE INDEX ix_hai_notifications_at ON public.hai_notifications USING btree (at);
CREATE INDEX ix_hai_notifications_key ON public.hai_notifications USING btree (key);
CREATE INDEX ix_hai_notifications_of_user ON public.hai_notifications USING btree (user_name, id);
CREATE INDEX ix_hai_notifications_routed ON public.hai_notifications USING btree (routed, id);
CREATE INDEX ix_hai_recordings_of_run ON public.hai_recordings USING btree (run_id, id);
CREATE INDEX ix_hai_recordings_of_task ON public.hai_recordings USING btree (task_id, id);
CREATE INDEX ix_hai_recordings_of_user ON public.hai_recordings USING btree (user_name, id);
CREATE INDEX ix_hai_series_of_rank ON public.hai_series USING btree (run_id, rank, step, until);
CREATE INDEX ix_hai_series_to_pack ON public.hai_series USING btree (step, packed, until);
CREATE INDEX ix_hai_stars_task_id ON public.hai_stars USING btree (task_id);
CREATE INDEX ix_hai_task_tags_tag ON public.hai_task_tags USING btree (tag, task_id);
CREATE INDEX ix_hai_tasks_by_name ON public.hai_tasks USING btree (user_name, ended, name, id);
CREATE INDEX ix_hai_tasks_change ON public.hai_tasks USING btree (change);
CREATE INDEX ix_hai_tasks_ended_at ON public.hai_tasks USING btree (ended, ended_at, id);
CREATE INDEX ix_hai_tasks_of_user ON public.hai_tasks USING btree (user_name, id);
CREATE INDEX ix_hai_tasks_unfinished ON public.hai_tasks USING btree (ended, id);
ALTER TABLE ONLY public.hai_deliveries
    ADD CONSTRAINT fk_hai_deliveries_notification FOREIGN KEY (notification) REFERENCES public.hai_notifications(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_progress
    ADD CONSTRAINT fk_hai_progress_task_id FOREIGN KEY (task_id) REFERENCES public.hai_tasks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_recordings
    ADD CONSTRAINT fk_hai_recordings_task_id FOREIGN KEY (task_id) REFERENCES public.hai_tasks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_runs
    ADD CONSTRAINT fk_hai_runs_task_id FOREIGN KEY (task_id) REFERENCES public.hai_tasks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_specs
    ADD CONSTRAINT fk_hai_specs_task_id FOREIGN KEY (task_id) REFERENCES public.hai_tasks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_stars
    ADD CONSTRAINT fk_hai_stars_task_id FOREIGN KEY (task_id) REFERENCES public.hai_tasks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_task_tags
    ADD CONSTRAINT fk_hai_task_tags_task_id FOREIGN KEY (task_id) REFERENCES public.hai_tasks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.hai_trace_pieces
    ADD CONSTRAINT fk_hai_trace_pieces_recording FOREIGN KEY (recording) REFERENCES public.hai_recordings(id) ON DELETE CASCADE;
